"""Routes by method and path, changed while requests come in."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeAlias
from urllib.parse import quote, unquote

from catenary import EngineError
from catenary.patience import later
from catenary_components.endpoint.paths import Path

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from catenary.http.inprocess import AsgiApp, AsgiEvent, AsgiReceive, AsgiSend
    from catenary.jsontext import Json
    from catenary_components.endpoint.cors import Cors

LINGER_S: Final = 0.3
"""How long a request waits for a route that was just taken off: its endpoint may only be started anew."""

WEBSOCKET: Final = "WEBSOCKET"
"""Stands for the method of routes that take WebSockets."""

Handler: TypeAlias = "Callable[[AsgiEvent, AsgiReceive, AsgiSend, dict[str, str]], Awaitable[None]]"
"""Answers a request or a WebSocket, as ASGI wants it; the last argument has the variables of the path by name."""


@dataclass(frozen=True, slots=True)
class Route:
    """What answers one method of one path.

    Args:
        method: In upper case; `WEBSOCKET` for WebSockets. A route for `GET` answers `HEAD`, too.
        path: With `:name` or `{name}` for one part of a path, and `*name` at its end for all the rest.
        handle: Answers.
        name: What it belongs to, for people: `router 'GET:/a' of endpoint 'api' in chain 'shop'`.
        operation: The OpenAPI operation; one without stands in no document.
        cors: Which pages of other servers may call it; none if absent.
    """

    method: str
    path: str
    handle: Handler
    name: str = ""
    operation: Mapping[str, Json] | None = None
    cors: Cors | None = None


class RouteTakenError(EngineError):
    """A route that another owner has."""


class RouteTable:
    """An ASGI application of routes that can be replaced at any time; requests under way are not touched.

    Args:
        fallback: Answers what no route is for; 404 and 405 if absent.

    Attributes:
        fallback: As above.
        rules: Which pages of other servers may call any of the routes.
    """

    def __init__(self, fallback: AsgiApp | None = None) -> None:
        self.fallback = fallback
        self._owned: dict[object, tuple[Route, ...]] = {}
        self._fixed: dict[str, dict[str, tuple[Route, tuple[str, ...]]]] = {}
        self._tree = _Node()
        self._news: asyncio.Event | None = None
        self._gone: list[RouteTable] = []
        self._waiting: dict[Callable[[], None], None] = {}
        self.rules: tuple[Cors, ...] = ()

    @property
    def routes(self) -> list[Route]:
        """All routes, in the order in which their owners came."""
        return [route for routes in self._owned.values() for route in routes]

    def replace(self, owner: object, routes: Sequence[Route], instead_of: object = None) -> None:
        """Put routes in the place of all those of an owner, at once.

        Args:
            owner: Whoever the routes belong to; anything that can be a key.
            routes: Its routes; with none, the owner is forgotten.
            instead_of: Another owner, who has none any more.

        Raises:
            ValueError: When a path is none.
            RouteTakenError: When two routes have the same method and path; nothing is changed then.
        """
        owned = {**self._owned, owner: tuple(routes)}
        owned.pop(instead_of, None)
        before = {(route.method, route.path) for one in (owner, instead_of) for route in self._owned.get(one, ())}
        if not routes:
            del owned[owner]
        fixed: dict[str, dict[str, tuple[Route, tuple[str, ...]]]] = {}
        tree = _Node()
        for route in [route for routes in owned.values() for route in routes]:
            path = Path.read(route.path)
            found = tree.at(path.shape) if path.names else fixed.setdefault(route.path, {})
            other = found.setdefault(route.method, (route, path.names))[0]
            if other is not route:
                raise RouteTakenError(
                    f"{route.method} {route.path} is there twice: {other.name} has it, and {route.name} wants it",
                    hint="give one of them another path, or another server address",
                )
        self._owned, self._fixed, self._tree = owned, fixed, tree
        self.rules = tuple({route.cors: None for route in self.routes if route.cors is not None})
        self._tell_news()
        if before - {(route.method, route.path) for route in routes}:
            waiting, self._waiting = self._waiting, {}
            for tell in waiting:
                tell()

    def remove(self, owner: object) -> None:
        """Take out all routes of an owner; nothing happens when it has none.

        For a moment, requests that they were for wait for others in their place.
        """
        routes = self._owned.get(owner)
        if routes is not None:
            gone = RouteTable()
            gone.replace(owner, routes)
            self._gone.append(gone)
            later(LINGER_S, lambda: self._forget(gone))
            self.replace(owner, ())

    def when_freed(self, tell: Callable[[], None]) -> None:
        """Have somebody told, once, when an owner has less routes than before."""
        self._waiting[tell] = None

    def __call__(self, scope: AsgiEvent, receive: AsgiReceive, send: AsgiSend) -> Awaitable[None]:
        """Answer a request or a WebSocket."""
        path: str = scope["path"]
        root: str = scope.get("root_path", "")
        if root and path.startswith(root):
            path = path[len(root) :] or "/"
        kind = scope["type"]
        method = scope["method"] if kind == "http" else WEBSOCKET
        at_path = self._fixed.get(path)
        if at_path is not None and (found := at_path.get(method)) is not None:
            return found[0].handle(scope, receive, send, {})
        return self._search(scope, receive, send, _written_path(scope, path, root), method)

    def openapi(self) -> dict[str, dict[str, Json]]:
        """Give the `paths` of an OpenAPI document: operations by path and method."""
        paths: dict[str, dict[str, Json]] = {}
        first_of: dict[Any, Path] = {}
        for route in self.routes:
            if route.operation is not None and route.method != WEBSOCKET:
                path = Path.read(route.path)
                first = first_of.setdefault(path.shape, path)  # paths that differ in names alone are one
                operation = _renamed(route.operation, dict(zip(path.names, first.names, strict=True)))
                paths.setdefault(first.template, {})[route.method.lower()] = operation
        return paths

    # Private

    def _search(
        self, scope: AsgiEvent, receive: AsgiReceive, send: AsgiSend, path: str, method: str
    ) -> Awaitable[None]:
        by_method, values = self._at(path, method)
        found = by_method.get(method)
        if found is None and method == "HEAD":
            found = by_method.get("GET")
        if found is not None:
            route, names = found
            return route.handle(scope, receive, send, dict(zip(names, values, strict=True)))
        if any(gone._has(path, method) for gone in self._gone):
            return self._later(scope, receive, send)
        if self.fallback is not None and not by_method:
            return self.fallback(scope, receive, send)
        from catenary_components.endpoint.plain import no_route

        return no_route(scope, send, {name: route for name, (route, _) in by_method.items()}, self.rules)

    async def _later(self, scope: AsgiEvent, receive: AsgiReceive, send: AsgiSend) -> None:
        self._news = news = self._news or asyncio.Event()
        await news.wait()
        await self(scope, receive, send)

    def _forget(self, gone: RouteTable) -> None:
        self._gone.remove(gone)
        self._tell_news()

    def _tell_news(self) -> None:
        """Let those look again who wait for a route."""
        news, self._news = self._news, None
        if news is not None:
            news.set()

    def _has(self, path: str, method: str) -> bool:
        by_method, _ = self._at(path, method)
        return method in by_method or (method == "HEAD" and "GET" in by_method)

    def _at(self, path: str, method: str) -> tuple[Mapping[str, tuple[Route, tuple[str, ...]]], tuple[str, ...]]:
        """Give what is at a path by method, and the values of its variables."""
        by_method = self._fixed.get(path)
        if by_method is not None and method in by_method:
            return by_method, ()
        return self._variable(path, method, by_method)

    def _variable(
        self, path: str, method: str, fixed: Mapping[str, tuple[Route, tuple[str, ...]]] | None
    ) -> tuple[Mapping[str, tuple[Route, tuple[str, ...]]], tuple[str, ...]]:
        """Find what has this method; else everything that has the path, to tell which methods there are."""
        parts = path.split("/")[1:]
        known: dict[str, tuple[Route, tuple[str, ...]]] = dict(fixed or {})
        if any(_is_unsafe(unquote(part)) for part in parts):
            return known, ()
        values: tuple[str, ...] = ()
        for by_method, raw in self._tree.find(parts):
            found = tuple(map(unquote, raw))
            if method in by_method:
                return by_method, found
            if method == "HEAD" and "GET" in by_method:
                return by_method, found
            known = {**by_method, **known}
        return known, values


@dataclass(slots=True)
class _Node:
    """One part of the paths with variables; which methods end here, and what may follow."""

    ends: dict[str, tuple[Route, tuple[str, ...]]] = field(default_factory=dict[str, tuple[Route, tuple[str, ...]]])
    parts: dict[str, _Node] = field(default_factory=dict[str, "_Node"])
    variable: _Node | None = None
    rest: _Node | None = None

    def at(self, shape: Sequence[str | None]) -> dict[str, tuple[Route, tuple[str, ...]]]:
        node = self
        for part in shape:
            if part is None:
                node.variable = node = node.variable or _Node()
            elif part == "*":
                node.rest = node = node.rest or _Node()
            else:
                node = node.parts.setdefault(part, _Node())
        return node.ends

    def find(self, parts: Sequence[str]) -> Any:
        """Give what has a path, with the values of its variables: what is written out first, all the rest last."""
        if not parts:
            if self.ends:
                yield self.ends, ()
            return
        first, *others = parts
        if (node := self.parts.get(unquote(first))) is not None:
            yield from node.find(others)
        if self.variable is not None and first:
            for ends, values in self.variable.find(others):
                yield ends, (first, *values)
        if self.rest is not None:
            yield self.rest.ends, ("/" + "/".join(parts),)


def _renamed(operation: Mapping[str, Json], names: Mapping[str, str]) -> dict[str, Json]:
    """Give an operation whose variables of the path have other names."""
    parameters: Any = operation.get("parameters")
    if not parameters:
        return dict(operation)
    renamed = [{**one, "name": names[one["name"]]} if one["in"] == "path" else one for one in parameters]
    return {**operation, "parameters": renamed}


def _written_path(scope: AsgiEvent, path: str, root: str) -> str:
    """Give the path as it was sent: a `%2F` is a part of a part."""
    raw: bytes = scope.get("raw_path") or b""
    if b"%" not in raw:
        return path
    written = raw.decode("latin-1").partition("?")[0]
    prefix = quote(root)
    return written[len(prefix) :] or "/" if prefix and written.startswith(prefix) else written


def _is_unsafe(part: str) -> bool:
    """Tell whether a part could lead out of a folder, if somebody made a file name of it."""
    return "\0" in part or any(piece in {".", ".."} for piece in part.replace("\\", "/").split("/"))
