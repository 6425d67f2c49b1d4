"""Placeholders that nothing is set for: warnings, each at its place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from catenary.load.names import UNRESOLVED
from catenary.load.places import entries

if TYPE_CHECKING:
    from collections.abc import Iterator

    from catenary.jsontext import Json
    from catenary.load.lint import Report
    from catenary.load.places import Path


def tell_unresolved(report: Report, base: Path, label: str, resolved: Json) -> None:
    """Warn of what the first pass has left as it was.

    Args:
        report: The warnings are added to it.
        base: Where the value stands.
        label: Whose it is.
        resolved: The value, after the pass.
    """
    for where, name in _unresolved(resolved):
        root, _, rest = name.partition(".")
        hint = f"add {rest!r} to ruleChain.configuration.{root}"
        if root == "global":
            hint = f"set the property {rest!r} (--set {name}=... on the command line)"
        report.add("chain.unresolved-placeholder", (*base, *where), f"{label}: ${{{name}}} has no value", hint)


def _unresolved(value: Json, path: Path = ()) -> Iterator[tuple[Path, str]]:
    """Give each plain placeholder that the init pass left as it was, and where it stands."""
    if isinstance(value, str):
        for match in UNRESOLVED.finditer(value):
            yield path, match.group(1)
    for key, item in entries(value):
        yield from _unresolved(item, (*path, key))
