"""`serve`: serve the chains of a folder."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from catenary.cli._parts import part_options, tools_option
from catenary.cli._properties import property_options
from catenary.cli._replaying import record_option
from catenary.cli._waiting import store_option

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from catenary.jsontext import Json
    from catenary.store import History
    from catenary_server.keys import Keys

_PORT: Final = 9090
_MEBIBYTE: Final = 2**20
_PACKAGES: Final = ("httptools", "prometheus_client", "starlette", "uvicorn", "websockets")


@click.command(short_help="Serve the chains of a folder.")
@click.argument("folder", metavar="[DIR]", required=False, type=click.Path(path_type=Path))
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=_PORT, show_default=True, help="The port; 0 for a free one."
)
@click.option("--watch", is_flag=True, help="Take over changes of the folder as they happen.")
@click.option(
    "--api-key",
    "api_keys",
    multiple=True,
    metavar="KEY",
    help="A key that clients must send; others on this machine can see it here. Repeatable.",
)
@click.option(
    "--api-keys",
    "key_files",
    multiple=True,
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="A file of such keys, one a line. Repeatable. CATENARY_API_KEYS has keys, too.",
)
@click.option("--read-only", is_flag=True, help="Do not let clients change chains.")
@click.option(
    "--max-body",
    "max_body_mb",
    type=click.FloatRange(min=0.001),
    default=10.0,
    show_default=True,
    metavar="MIB",
    help="How large the body of an API request may be, in MiB.",
)
@click.option(
    "--max-runs", type=click.IntRange(min=1), default=1000, show_default=True, help="Runs of API clients at once."
)
@click.option("--grace", default="10s", show_default=True, metavar="S", help="Time for runs when the server stops.")
@click.option("--no-metrics", is_flag=True, help="Do not count what chains and nodes do.")
@click.option("--no-access-log", is_flag=True, help="Do not log each request.")
@click.option(
    "--log-format",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    envvar="CATENARY_LOG_FORMAT",
    help="How the log on stderr is written.",
)
@click.option(
    "--log-level",
    type=click.Choice(["debug", "info", "warning", "error"]),
    default="info",
    show_default=True,
    envvar="CATENARY_LOG_LEVEL",
    help="What is logged.",
)
@click.option(
    "--secret-key",
    "secret_key_file",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="The file with the key of the chains' secrets; what CATENARY_SECRET_KEY says if absent.",
)
@record_option
@store_option
@property_options
@part_options
@tools_option
@click.pass_context
def serve(ctx: click.Context, folder: Path | None, **options: Any) -> None:
    """Serve the chains in the folder DIR and below it: ./chains if there is one, else the current folder.

    Their endpoints take messages in, and the API runs any of them: POST a message to /api/v1/chains/ID/run. A chain
    with errors does not keep the others out.

    \b
    Examples:
      catenary serve                                     the chains in ./chains, on http://127.0.0.1:9090
      catenary serve chains/ --watch                     changed files are taken over as they are saved
      catenary serve chains/ --env-file site.env --set global.region=north
      catenary serve chains/ --shared connections.yaml --record
      catenary serve chains/ --host 0.0.0.0 --api-keys keys.txt

    \b
    Then, in another terminal:
      curl http://127.0.0.1:9090/api/v1/chains/door-alarm/run -d '{"data": {"t": 41}}'
      curl http://127.0.0.1:9090/api/v1/chains
      curl -N -H 'Accept: text/event-stream' http://127.0.0.1:9090/api/v1/chains/door-alarm/run -d '{"data": {"t": 41}}'

    An http endpoint with `server: ref://server` answers on the same address. /openapi.json describes everything,
    /healthz and /readyz are for whoever watches over the server, /metrics is for Prometheus.

    Only programs of this machine can connect, unless --host says otherwise; that needs an API key. Clients send it as
    `Authorization: Bearer KEY` or `X-API-Key: KEY`. Endpoints on the same address need it as well, unless they have
    `apiKeys` of their own or `anonymous: true`.

    Properties, which chains read as ${global.KEY}, component types, shared resources and tools are given as for
    `catenary run`, and so is CATENARY_CACHE_URL, a Redis for what chains keep. With --record runs are kept in the
    history. Questions of `wait` nodes are kept in the same file, and outlive the server.

    SIGINT (Ctrl-C) and SIGTERM stop it: nothing new is taken in, what is under way has --grace to finish, and
    then the exit code is 0. A second signal does not wait: 130 or 143. Exit codes before that: 1 an address cannot be
    listened on, 2 wrong usage, 3 a component type or a shared resource is invalid.
    """
    from catenary.cli._properties import properties_of

    _need_packages()
    keys = _keys(options)
    _check_host(options["host"], keys)
    properties = properties_of(options.pop("settings"), options.pop("env_files"))
    ctx.exit(_served(folder or _default_folder(), keys, properties, options))


def _served(folder: Path, keys: Keys, properties: dict[str, Json], options: dict[str, Any]) -> int:
    """Make the engine and serve. Returns: the exit code."""
    from catenary.aspects import Metrics
    from catenary.cli._parts import cache_of_environment, load_parts
    from catenary.engine import Engine
    from catenary.store.places import default_file
    from catenary_server.running import serve_engine

    _check(folder, is_watched=options["watch"])
    serving, settings = _serving(folder, options), _settings(keys, options)
    aspects = [] if options["no_metrics"] else [Metrics()]
    with _history(options) as history:
        secret_key = options["secret_key_file"]
        engine = Engine(
            properties,
            history=history,
            aspects=aspects,
            secret_key=secret_key,
            cache=cache_of_environment(),
            check_connections_s=10.0,
        )
        with engine:
            load_parts(engine, options)
            engine.pauses.keep_in(options["store"] or default_file())
            return asyncio.run(serve_engine(engine, serving, settings))


def _check(folder: Path, *, is_watched: bool) -> None:
    """Raises: click.UsageError: when the folder cannot be served, or nothing is there to watch it."""
    from catenary.errors import EngineError
    from catenary_server.running import check_folder

    try:
        check_folder(folder)
        if is_watched:
            from catenary.life.watching import needed

            needed()
    except EngineError as error:
        raise click.UsageError(f"{error}; {error.hint}") from None


def _serving(folder: Path, options: dict[str, Any]) -> Any:
    from catenary_server.running import Serving

    return Serving(
        folder=folder,
        host=options["host"],
        port=options["port"],
        watch=options["watch"],
        grace_s=_seconds(options["grace"]),
        log_form=options["log_format"],
        log_level=options["log_level"],
    )


def _settings(keys: Keys, options: dict[str, Any]) -> Any:
    from catenary_server.service import ServiceSettings

    return ServiceSettings(
        keys=keys,
        hosts=None if keys else frozenset({"localhost", "127.0.0.1", "[::1]", options["host"].lower()}),
        read_only=options["read_only"],
        max_body_bytes=int(options["max_body_mb"] * _MEBIBYTE),
        max_in_flight=options["max_runs"],
        access_log=not options["no_access_log"],
    )


def _history(options: dict[str, Any]) -> AbstractContextManager[History | None]:
    import contextlib

    if not options["record"]:
        return contextlib.nullcontext()
    from catenary.store import History

    return History(options["store"])


def _need_packages() -> None:
    """See that the extra is installed. Raises: click.UsageError: when it is not."""
    from importlib.util import find_spec

    missing = [name for name in _PACKAGES if find_spec(name) is None]
    if missing:
        text = f"serving needs packages that are not installed: {', '.join(missing)}"
        raise click.UsageError(f"{text}; install them with: pip install 'catenary[server]'")


def _default_folder() -> Path:
    chains = Path("chains")
    return chains if chains.is_dir() else Path()


def _keys(options: dict[str, Any]) -> Keys:
    from catenary.errors import ConfigError
    from catenary_server.keys import read_keys

    try:
        return read_keys(options.pop("api_keys"), options.pop("key_files"))
    except ConfigError as error:
        raise click.UsageError(f"{error}; {error.hint}") from None


def _check_host(host: str, keys: Keys) -> None:
    """Refuse to let other machines in without a key. Raises: click.UsageError: when they would be."""
    from catenary_components.endpoint.address import Address

    if keys or Address(host, 0).is_loopback:
        return
    how = "give one with --api-keys FILE or CATENARY_API_KEYS"
    raise click.UsageError(f"other machines can connect to {host!r}, which needs an API key; {how}")


def _seconds(text: str) -> float:
    from catenary.durations import duration_s

    try:
        return duration_s(text)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="'--grace'") from None
