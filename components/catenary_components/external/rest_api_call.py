"""`restApiCall`: call an HTTP API and go on with its answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from pydantic import field_validator

from catenary import FAILURE, STREAM, SUCCESS, Message, Template, fail
from catenary.component import Component, Config, Context, Emission, Example, option, register
from catenary.errors import Refused, ResourceError
from catenary.http import HttpOptions, proxy_address, sse_lines

if TYPE_CHECKING:
    from catenary.http import HttpClient, HttpResponse
    from catenary.jsontext import Json

_ERROR_PAGE_BYTES: Final = 64 * 1024
_CONNECT_TIMEOUT_S: Final = 30.0


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
    body: Template = option("", help="The body of the request; the message's data if blank.")
    without_request_body: bool = option(False, help="Send no body.")
    read_timeout_ms: int = option(
        2000,
        ge=0,
        unit="milliseconds",
        help="Longest time for the whole call; of an event stream, longest silence. 0 is no limit.",
    )
    max_response_bytes: int = option(16 * 1024 * 1024, ge=1, unit="bytes", help="Largest answer.")
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


@register("restApiCall", category="external", since="0.1")
class RestApiCall(Component[RestApiCallConfig]):
    """Call an HTTP API and go on with its answer as the message's data.

    The statuses 200 to 299 leave by `Success`, with `status` (`200 OK`) and `statusCode` (`200`) in the metadata; type
    and data type of the message stay. Any other status leaves by `Failure`: the data stays, the same two are set, and
    `errorBody` is the body of the answer (its first 64 KiB). Without an answer `errorBody` is what went wrong, and
    there is no status. Redirects are followed.

    An answer of type `text/event-stream` leaves line by line while it comes: each `name: value` is a message by
    `Stream` with the value as data and the name (`data`, `event`, `id`, `retry`) in `eventType`. The next line is read
    when all that came of the last one has ended. When the stream is over, all its data leaves by `Success`, one line a
    value, with `stream_completed` in the metadata.

    Connections are kept and used again by this node. Nothing is tried twice: for that, give the node a `retry`.
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

    def open(self, ctx: Context) -> None:
        """Make the pool of connections; the first message connects."""
        self._client: HttpClient = ctx.http.client(self.config.http_options)

    def preview(self, ctx: Any, msg: Message) -> dict[str, Json]:
        """Give the request."""
        method, url, headers, content = self._request(ctx, msg)
        body = {} if content is None else {"body": content}
        return {"method": method, "url": url, "headers": dict(headers), **body}

    async def run(self, ctx: Context, msg: Message) -> Emission:
        """Make the call."""
        method, url, headers, content = self._request(ctx, msg)
        try:
            async with self._client.stream(method, url, headers=headers, content=content) as answer:
                return await self._go_on(ctx, msg, answer)
        except ResourceError as error:
            return fail(error, msg.put("errorBody", str(error)))

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    def _request(self, ctx: Context, msg: Message) -> tuple[str, str, list[tuple[str, str]], str | bytes | None]:
        """Give method, address, headers and body for a message."""
        config = self.config
        url = config.rest_endpoint_url_pattern.render(msg, ctx)
        headers = [(name.render(msg, ctx), value.render(msg, ctx)) for name, value in config.headers.items()]
        return config.request_method.strip().upper() or "GET", url, headers, self._content(ctx, msg)

    def _content(self, ctx: Context, msg: Message) -> str | bytes | None:
        if self.config.without_request_body:
            return None
        if not str(self.config.body.source or "").strip():
            return msg.data
        return self.config.body.render(msg, ctx)

    async def _go_on(self, ctx: Context, msg: Message, answer: HttpResponse) -> Emission:
        status = {"status": f"{answer.status} {answer.reason}".strip(), "statusCode": str(answer.status)}
        answered = msg.put_all(status)
        if not answer.is_success:
            page = answer.decode(await answer.read_start(_ERROR_PAGE_BYTES))
            is_passing = answer.status in (408, 425, 429) or answer.status >= 500
            error = Refused(page if page.strip() else status["status"], retryable=is_passing)
            return fail(error, answered.put("errorBody", page))
        if answer.media_type == "text/event-stream":
            return await _pass_on(ctx, answered, answer)
        await answer.read()
        return SUCCESS, answered.with_data(answer.content if msg.data_type == "BINARY" else answer.text)


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
