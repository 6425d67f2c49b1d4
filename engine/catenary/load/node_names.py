"""Nodes that are named in the options of others: each must exist, and none may run itself for ever."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, get_args

from pydantic import BaseModel

from catenary.load.names import UNRESOLVED, did_you_mean, listed
from catenary.load.setting_parts import settings_that

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from catenary.load.lint import Report
    from catenary.load.places import Path


class NodeNames:
    """Collects what the options of each node name, and reports what is wrong with it.

    Args:
        report: The problems are added to it.
        known: The ids of the nodes of the chain.
    """

    def __init__(self, report: Report, known: Collection[str]) -> None:
        self._report = report
        self._known = known
        self._runs: dict[tuple[str, str], tuple[Path, str]] = {}

    def add(self, node_id: str, label: str, base: Path, config: Any) -> None:
        """Look at the settings of a node; `base` is the path of its configuration."""
        if not _may_name(config.__class__):
            return
        for path, named in _named(config, base):
            option = next(str(part) for part in reversed(path) if isinstance(part, str))
            for other in dict.fromkeys(named.named_nodes):
                if UNRESOLVED.search(other):  # which has a warning of its own
                    continue
                if other not in self._known:
                    text = f"{label}: {option} names no node: {other!r} does not exist"
                    self._report.add("config.unknown-node", path, text, self._hint(other))
                elif named.always_runs:
                    self._runs.setdefault((node_id, other), (path, label))

    def _hint(self, name: str) -> str:
        if "${" in name:
            return "it is read once, when the chain is loaded: no part of a message can be named in it"
        return did_you_mean(name, self._known, f"the nodes are: {listed(self._known)}")

    def lint(self) -> None:
        """Report the nodes that would run themselves without an end, be it through others."""
        from catenary.load.graph import cycles

        for cycle in cycles(list(self._known), list(self._runs)):
            path, label = self._runs[cycle[0], cycle[1]]
            self._report.add("config.runs-itself", path, f"{label}: the node runs itself: {' -> '.join(cycle)}")


def nodes_named(config_type: type[Any], configuration: Mapping[str, Any]) -> list[str]:
    """Give the ids of the nodes that a configuration names, in the order written; none when it cannot be read."""
    from catenary.load.decode import decode

    if not _may_name(config_type):
        return []
    settings, _, _ = decode(config_type, dict(configuration), None)
    return [] if settings is None else [node for _, named in _named(settings, ()) for node in named.named_nodes]


@lru_cache(maxsize=1024)
def _may_name(config_type: type[Any]) -> bool:
    """Tell whether settings of a class have options that name nodes: most have none, and are not looked through."""
    seen: set[Any] = set()
    waiting: list[Any] = [config_type]
    while waiting:
        kind = waiting.pop()
        if hasattr(kind, "named_nodes"):
            return True
        waiting += get_args(kind)
        if isinstance(kind, type) and issubclass(kind, BaseModel) and kind not in seen:
            seen.add(kind)
            waiting += [field.annotation for field in kind.model_fields.values()]
    return False


def _named(config: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    """Give each value in settings that names nodes, and where it stands."""
    return settings_that(lambda value: hasattr(value, "named_nodes"), config, path)
