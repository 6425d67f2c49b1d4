"""Routes by method and path."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catenary import EngineError
from catenary_components.endpoint.address import Address
from catenary_components.endpoint.paths import Path
from catenary_components.endpoint.routing import Route, RouteTable


async def ask(table: RouteTable, path: str, method: str = "GET", raw: bytes | None = None, root: str = "") -> Any:
    """Ask a table; gives the path of the route and its variables, or the status."""
    sent: list[Any] = []

    async def send(event: Any) -> None:
        sent.append(event)

    scope: dict[str, Any] = {"type": "http", "method": method, "path": path, "root_path": root, "headers": []}
    scope["raw_path"] = raw if raw is not None else path.encode()
    await table(scope, None, send)  # type: ignore[arg-type]
    (first, *_) = sent
    return first.get("status") if hasattr(first, "get") else first


def table_of(*paths: str) -> RouteTable:
    def route(path: str) -> Route:
        async def handle(scope: Any, receive: Any, send: Any, variables: dict[str, str]) -> None:
            await send((path, variables))

        return Route("GET", path, handle, name=path)

    table = RouteTable()
    table.replace("test", [route(path) for path in paths])
    return table


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("/a", ("/a", {})),
        ("/a/b", ("/a/b", {})),
        ("/a/c", ("/a/:x", {"x": "c"})),
        ("/a/b/c", ("/a/*rest", {"rest": "/b/c"})),
        ("/a/", ("/a/*rest", {"rest": "/"})),
        ("/x/1/y/2", ("/{one}/1/y/:two", {"one": "x", "two": "2"})),
        ("/x/1/z/2", 404),
        ("/", 404),
        ("", 404),
        ("/b", 404),
        ("//", 404),
    ],
)
async def test_what_is_written_out_goes_before_variables_and_these_before_the_rest(path: str, found: Any) -> None:
    table = table_of("/a", "/a/b", "/a/:x", "/a/*rest", "/{one}/1/y/:two")
    assert await ask(table, path) == found


async def test_a_way_that_ends_nowhere_is_gone_back() -> None:
    table = table_of("/a/b/c", "/a/:x/d", "/*all")
    assert await ask(table, "/a/b/d") == ("/a/:x/d", {"x": "b"})
    assert await ask(table, "/a/b/e") == ("/*all", {"all": "/a/b/e"})


async def test_the_root_of_a_mounted_table_is_left_out() -> None:
    table = table_of("/a/:x")
    assert await ask(table, "/api v1/a/b/c", raw=b"/api%20v1/a/b%2Fc", root="/api v1") == ("/a/:x", {"x": "b/c"})
    assert await ask(table, "/api/a/b", root="/api") == ("/a/:x", {"x": "b"})


async def test_a_table_is_replaced_as_a_whole_or_not_at_all() -> None:
    table = table_of("/a")
    same = table.routes[0]
    with pytest.raises(EngineError, match="GET /a is there twice"):
        table.replace("other", [Route("GET", "/b", same.handle), Route("GET", "/a", same.handle)])
    assert await ask(table, "/b") == 404
    table.replace("test", [])
    assert table.routes == []
    table.remove("nobody")


async def test_the_same_path_may_have_a_route_for_each_method() -> None:
    table = table_of("/a/:x")
    table.replace("more", [Route("POST", "/a/{y}", table.routes[0].handle, name="post")])
    assert await ask(table, "/a/1") == ("/a/:x", {"x": "1"})
    assert await ask(table, "/a/1", "POST") == ("/a/:x", {"y": "1"})
    assert await ask(table, "/a/1", "PUT") == 405


@given(st.lists(st.sampled_from(["a", ":x", "{y}", "*r", "", "..", "%2e", "b c", "é"]), max_size=5))
def test_a_path_is_read_or_refused_with_a_reason(parts: list[str]) -> None:
    text = "/" + "/".join(parts)
    try:
        path = Path.read(text)
    except ValueError as error:
        assert text in str(error)
    else:
        assert len(path.shape) == len(parts) or not parts
        assert path.template.count("{") == len(path.names)


@pytest.mark.parametrize(
    ("text", "host", "port", "is_loopback"),
    [
        (":6333", "127.0.0.1", 6333, True),
        ("6333", "127.0.0.1", 6333, True),
        ("localhost:1", "localhost", 1, True),
        ("127.9.9.9:1", "127.9.9.9", 1, True),
        ("[::1]:8", "::1", 8, True),
        ("0.0.0.0:80", "0.0.0.0", 80, False),
        ("[::]:80", "::", 80, False),
        ("example.com:80", "example.com", 80, False),
    ],
)
def test_addresses_are_read(text: str, host: str, port: int, is_loopback: bool) -> None:
    address = Address.read(text)
    assert (address.host, address.port, address.is_loopback) == (host, port, is_loopback)
    assert Address.read(str(address)) == address


def test_paths_that_differ_in_the_names_of_their_variables_are_one_in_the_document() -> None:
    async def handle(*_: Any) -> None: ...

    def route(method: str, name: str) -> Route:
        operation: Any = {"parameters": [{"name": name, "in": "path"}, {"name": "page", "in": "query"}]}
        return Route(method, f"/orders/:{name}", handle, operation=operation)

    table = RouteTable()
    table.replace("owner", [route("GET", "id"), route("PUT", "key")])
    assert list(table.openapi()) == ["/orders/{id}"]
    methods: Any = table.openapi()["/orders/{id}"]
    assert [one["name"] for one in methods["put"]["parameters"]] == ["id", "page"]
