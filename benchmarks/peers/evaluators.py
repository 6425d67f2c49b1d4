"""Other evaluators of expressions, where they are installed (extra `bench`), each with its quickest interface.

All compile once and get the same data, parsed before: as plain dicts, as CEL values for cel-python, and as JSON text
for zen-engine, which reads that quicker than it takes a dict over.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Names = Mapping[str, Any]
    Maker = Callable[[str, dict[str, Any]], Callable[[], Any]]


@dataclass(frozen=True, slots=True)
class Formula:
    """One expression in the syntax of each evaluator."""

    ours: str
    cel: str
    jinja: str
    zen: str
    simple: str

    def cases(self, names: dict[str, Any]) -> dict[str, Callable[[], Any]]:
        """Give what evaluates it for these names, by evaluator; only those that are installed."""
        return {
            name: make(getattr(self, syntax), names)
            for name, (syntax, make) in _EVALUATORS.items()
            if _version(name) is not None
        }


def _cel(source: str, names: dict[str, Any]) -> Callable[[], Any]:
    import celpy

    environment = celpy.Environment()
    program = environment.program(environment.compile(source))
    activation: Any = celpy.json_to_cel(names)
    return lambda: program.evaluate(activation)


def _jinja(source: str, names: dict[str, Any]) -> Callable[[], Any]:
    import jinja2

    evaluate = jinja2.Environment().compile_expression(source)
    return lambda: evaluate(names)


def _zen(source: str, names: dict[str, Any]) -> Callable[[], Any]:
    import zen

    evaluate = zen.compile_expression(source).evaluate
    text = json.dumps(names)
    return lambda: evaluate(text)


def _simple(source: str, names: dict[str, Any]) -> Callable[[], Any]:
    from simpleeval import EvalWithCompoundTypes

    evaluator: Any = EvalWithCompoundTypes(names=names)
    tree = evaluator.parse(source)
    return lambda: evaluator.eval(source, previously_parsed=tree)


_EVALUATORS: Final[dict[str, tuple[str, Maker]]] = {
    "cel-python": ("cel", _cel),
    "jinja2": ("jinja", _jinja),
    "zen-engine": ("zen", _zen),
    "simpleeval": ("simple", _simple),
}


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def installed() -> tuple[list[str], list[str]]:
    """Give the names of the evaluators that are installed, and a line on each."""
    names = [name for name in _EVALUATORS if _version(name) is not None]
    return names, [f"{name} {_version(name) or 'not installed'}" for name in _EVALUATORS]
