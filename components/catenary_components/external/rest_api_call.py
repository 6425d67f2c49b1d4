"""`restApiCall`: call an HTTP API and go on with its answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pydantic import field_validator

from catenary import FAILURE, STREAM, SUCCESS, Message, Template, fail
from catenary.component import Component, Config, Context, Emission, Example, option, register
from catenary.errors import Refused, ResourceError
from catenary.http import HttpOptions, proxy_address, retry_after_s, retryable_status, sse_lines, wait_before

if TYPE_CHECKING:
    from tenacity import RetryCallState

    from catenary.http import HttpClient, HttpResponse
    from catenary.jsontext import Json

_ERROR_PAGE_BYTES: Final = 64 * 1024
_CONNECT_TIMEOUT_S: Final = 30.0
_EVENT_STREAM: Final = "text/event-stream"
_KEY: Final = "idempotency-key"


class RestApiCallConfig(Config):
    """Settings of one `restApiCall` node."""

    rest_endpoint_url_pattern: Template = option(
        help="The address to call.", also=["url"], examples=["http://127.0.0.1:8080/devices/${metadata.deviceId}"]
    )
    request_method: str = option(
        "POST",
        help="The method; upper and lower case are the same, blank is `GET`.",
        also=["method"],
        pattern=r"^\s*[A-Za-z]*\s*$",
    )
    headers: dict[Template, Template] = option(
        {"Content-Type": "application/json"}, help="Headers of the request; names and values may hold `${...}`."
    )
    redirect_headers: list[str] = option(
        [],
        help="Names of headers that go along when a redirect leads to another scheme, host or port; of the others only "
        "those do that say what is wanted and sent, such as `Accept` and `Content-Type`.",
        examples=[["X-Request-Id"]],
    )
    body: Template = option("", help="The body of the request; the message's data if blank.")
    without_request_body: bool = option(False, help="Send no body.")
    read_timeout_ms: int = option(
        2000,
        ge=0,
        unit="milliseconds",
        help="Longest time for the whole call, each try counted apart; of an event stream, longest silence. "
        "0 is no limit.",
    )
    max_response_bytes: int = option(
        16 * 1024 * 1024, ge=1, unit="bytes", help="Largest answer; a larger one is broken off while it is read."
    )
    response_headers: dict[str, str] = option(
        {},
        help="Headers of the answer to put into the metadata: the key there, and the name of the header.",
        examples=[{"nextPage": "Link", "etag": "ETag"}],
    )
    max_retries: int = option(
        0,
        ge=0,
        unit="tries",
        help="How often the call is tried again when it got no answer, `429`, or `500` to `599` but `501` and `505`.",
    )
    retry_interval_ms: int = option(
        1000,
        ge=0,
        unit="milliseconds",
        help="Longest wait before the first retry; it doubles up to 30 seconds. What the server asks for by "
        "`Retry-After` counts instead, up to 60 seconds.",
    )
    idempotency_key: Template = option(
        "",
        help="The value of the header `Idempotency-Key`, the same for all tries of a call; none is sent if blank.",
        examples=["${id}"],
    )
    max_parallel_requests_count: int = option(
        2000, ge=0, unit="connections", help="Connections of this node at once; further calls wait. 0 is no limit."
    )
    insecure_skip_verify: bool = option(False, help="Accept any certificate of the server.")
    ca_file: str = option("", help="A PEM file of certificates to trust in place of the usual ones.")
    enable_proxy: bool = option(False, help="Call through a proxy.")
    use_system_proxy_properties: bool = option(
        False, help="With `enableProxy`, take the proxy from HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY."
    )
    proxy_scheme: str = option("http", help="How to speak to the proxy: `http`, `https` or `socks5`.")
    proxy_host: str = option("", help="The host of the proxy.")
    proxy_port: int = option(0, ge=0, le=65535, help="The port of the proxy; that of the scheme if 0.")
    proxy_user: str = option("", help="The name to log in to the proxy with.")
    proxy_password: str = option("", help="The password to log in to the proxy with.", secret=True)

    @field_validator("rest_endpoint_url_pattern")
    @classmethod
    def _names_an_address(cls, url: Template) -> Template:
        if not str(url.source or "").strip():
            raise ValueError("must be the address to call, and is blank")
        return url

    @property
    def http_options(self) -> HttpOptions:
        """The settings of the node's HTTP client. Raises: ConfigError: when the proxy is none."""
        timeout_s = self.read_timeout_ms / 1000 or None
        return HttpOptions(
            connect_timeout_s=_CONNECT_TIMEOUT_S,
            read_timeout_s=timeout_s,
            total_timeout_s=timeout_s,
            max_connections=self.max_parallel_requests_count or None,
            max_response_bytes=self.max_response_bytes,
            verify=not self.insecure_skip_verify,
            ca_file=self.ca_file,
            proxy=self._proxy,
            use_system_proxy=self.enable_proxy and self.use_system_proxy_properties,
            follow_redirects=True,
            redirect_headers=tuple(self.redirect_headers),
        )

    @property
    def _proxy(self) -> str:
        if not self.enable_proxy or self.use_system_proxy_properties:
            return ""
        return proxy_address(
            self.proxy_scheme.strip().lower() or "http",
            self.proxy_host.strip(),
            self.proxy_port,
            user=self.proxy_user,
            password=self.proxy_password,
        )


class _Request(NamedTuple):
    """What is sent."""

    method: str
    url: str
    headers: list[tuple[str, str]]
    content: str | bytes | None

    @property
    def wants_stream(self) -> bool:
        """True when its headers ask for an event stream."""
        asking = (value for name, value in self.headers if name.strip().lower() in {"accept", "content-type"})
        return any(value.strip().lower().startswith(_EVENT_STREAM) for value in asking)


class _BadStatus(Refused):
    """An answer that says no; `wait_s` is how long the server asks to be left alone, in seconds, if it says so."""

    wait_s: float | None = None


@register("restApiCall", category="external", since="0.1")
class RestApiCall(Component[RestApiCallConfig]):
    """Call an HTTP API and go on with its answer as the message's data.

    The statuses 200 to 299 leave by `Success`, with `status` (`200 OK`) and `statusCode` (`200`) in the metadata; type
    and data type of the message stay. Any other status leaves by `Failure`: the data stays, the same two are set, and
    `errorBody` is the body of the answer (its first 64 KiB). Without an answer `errorBody` is what went wrong, and
    there is no status. Redirects are followed; to another server they take no header along that may be secret. Cookies
    that come with an answer are not kept.

    An answer of type `text/event-stream`, or of none when the headers ask for one, leaves line by line while it comes:
    each `name: value` is a message by
    `Stream` with the value as data and the name (`data`, `event`, `id`, `retry`) in `eventType`. The next line is read
    when all that came of the last one has ended. When the stream is over, all its data leaves by `Success`, one line a
    value, with `stream_completed` in the metadata.

    Connections are kept and used again by this node. Nothing is tried twice unless `maxRetries` says so; each retry is
    an event `http.retry`. A `retry` of the node counts for other nodes' failures, too, and must not be added to it.
    What has gone on already, a line of an event stream, is never asked for again.
    """

    relations = (SUCCESS, FAILURE, STREAM)
    examples = (
        Example(
            "a reading is posted to a service; needs the service",
            config={"url": "http://127.0.0.1:8080/readings", "headers": {"Authorization": "Bearer ${global.token}"}},
            inputs=[{"temperature": 41}],
            leaves_by=["Success"],
            runs=False,
        ),
        Example(
            "an address made of the message, read with GET; needs the service",
            config={
                "restEndpointUrlPattern": "http://127.0.0.1:8080/devices/${msg.id}",
                "requestMethod": "GET",
                "withoutRequestBody": True,
            },
            inputs=[{"id": 7}],
            leaves_by=["Success"],
            runs=False,
        ),
    )

    def __init__(self, config: RestApiCallConfig) -> None:
        super().__init__(config)
        self.retries = config.max_retries > 0

    def open(self, ctx: Context) -> None:
        """Make the pool of connections; the first message connects."""
        self._client: HttpClient = ctx.http.client(self.config.http_options)

    def preview(self, ctx: Any, msg: Message) -> dict[str, Json]:
        """Give the request."""
        request = self._request(ctx, msg)
        body = {} if request.content is None else {"body": request.content}
        return {"method": request.method, "url": request.url, "headers": dict(request.headers), **body}

    async def run(self, ctx: Context, msg: Message) -> Emission:
        """Make the call, again if it has to be."""
        request = self._request(ctx, msg)
        return await (self._try_often if self.retries else self._try)(ctx, msg, request)

    async def close(self) -> None:
        """Close the connections."""
        client: HttpClient | None = getattr(self, "_client", None)  # there is none before `open`
        if client is not None:
            await client.close()

    def _request(self, ctx: Context, msg: Message) -> _Request:
        config = self.config
        url = config.rest_endpoint_url_pattern.render(msg, ctx)
        headers = [(name.render(msg, ctx), value.render(msg, ctx)) for name, value in config.headers.items()]
        if config.idempotency_key and (key := config.idempotency_key.render(msg, ctx).strip()):
            headers = [header for header in headers if header[0].strip().lower() != _KEY]
            headers.append(("Idempotency-Key", key))
        return _Request(config.request_method.strip().upper() or "GET", url, headers, self._content(ctx, msg))

    def _content(self, ctx: Context, msg: Message) -> str | bytes | None:
        if self.config.without_request_body:
            return None
        if not str(self.config.body.source or "").strip():
            return msg.data
        return self.config.body.render(msg, ctx)

    async def _try(self, ctx: Context, msg: Message, request: _Request) -> Emission:
        method, url, headers, content = request
        try:
            async with self._client.stream(method, url, headers=headers, content=content) as answer:
                return await self._go_on(ctx, msg, answer, wants_stream=request.wants_stream)
        except ResourceError as error:
            return fail(error, msg.put("errorBody", str(error)))

    async def _try_often(self, ctx: Context, msg: Message, request: _Request) -> Emission:
        from tenacity import AsyncRetrying, retry_if_result, stop_after_attempt

        def may_help(emission: Emission) -> bool:
            error = _error_of(emission)
            return error is not None and error.retryable and not ctx.has_emitted

        def tell(state: RetryCallState) -> None:
            wait_s = round(state.upcoming_sleep, 3)
            ctx.notify("http.retry", retry=state.attempt_number, waitS=wait_s, error=str(_error_of(_result_of(state))))

        retrying = AsyncRetrying(
            sleep=ctx.clock.sleep,
            stop=stop_after_attempt(self.config.max_retries + 1),
            wait=self._wait_s,
            retry=retry_if_result(may_help),
            before_sleep=tell,
            retry_error_callback=_result_of,
        )
        return await retrying(self._try, ctx, msg, request)

    def _wait_s(self, state: RetryCallState) -> float:
        error = _error_of(_result_of(state))
        asked_s = error.wait_s if isinstance(error, _BadStatus) else None
        return wait_before(state.attempt_number, self.config.retry_interval_ms / 1000, asked_s)

    async def _go_on(self, ctx: Context, msg: Message, answer: HttpResponse, *, wants_stream: bool) -> Emission:
        told = {"status": f"{answer.status} {answer.reason}".strip(), "statusCode": str(answer.status)}
        for key, name in self.config.response_headers.items():
            if name in answer.headers:
                told[key] = answer.headers[name]
        answered = msg.put_all(told)
        if not answer.is_success:
            page = answer.decode(await answer.read_start(_ERROR_PAGE_BYTES))
            error = _BadStatus(page if page.strip() else told["status"], retryable=retryable_status(answer.status))
            error.wait_s = retry_after_s(answer.headers.get("retry-after", ""), ctx.clock.time_ms())
            return fail(error, answered.put("errorBody", page))
        if answer.media_type == _EVENT_STREAM or (wants_stream and answer.media_type in {"", "text/plain"}):
            return await _pass_on(ctx, answered, answer)
        await answer.read()
        return SUCCESS, answered.with_data(answer.content if msg.data_type == "BINARY" else answer.text)


def _result_of(state: RetryCallState) -> Emission:
    assert state.outcome is not None
    return state.outcome.result()


def _error_of(emission: Emission) -> ResourceError | None:
    """Give what went wrong with a call; `None` when nothing did."""
    relation = emission[0] if isinstance(emission, tuple) else emission
    error = getattr(relation, "error", None)
    return error if isinstance(error, ResourceError) else None


async def _pass_on(ctx: Context, msg: Message, answer: HttpResponse) -> Emission:
    """Send the lines of an event stream on, one after the other."""
    answer.lift_total_timeout()
    texts: list[str] = []
    async for line in sse_lines(answer):
        name, colon, value = line.partition(":")
        if not colon or not name:
            continue
        text = value.strip()
        if name == "data":
            texts.append(text)
        await ctx.emit(STREAM, msg.with_data(text).put("eventType", name))
    return SUCCESS, msg.with_data("\n".join(texts)).put("stream_completed", "true")
