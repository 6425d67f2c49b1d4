"""All checks for a component, by name, as one call or as a test of pytest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypedDict, Unpack

from catenary.component import info_of
from catenary.registry import Registry
from catenary.testing.conformance.case import Subject
from catenary.testing.conformance.checks import (
    check_close,
    check_defaults,
    check_examples,
    check_relations,
    check_schema,
    check_unknown_option,
)
from catenary.testing.conformance.exposure import check_secrets
from catenary.testing.conformance.leftovers import check_cancel

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from catenary.component import Component
    from catenary.jsontext import Json
    from catenary.testing.conformance.case import Case

CHECKS: Final[Mapping[str, Callable[[Subject], Iterator[str]]]] = {
    "the schema is valid": check_schema,
    "the defaults load": check_defaults,
    "an unknown option is reported": check_unknown_option,
    "the examples hold": check_examples,
    "each relation is reached": check_relations,
    "a cancelled run leaves nothing behind": check_cancel,
    "closing twice is fine": check_close,
    "secrets are masked": check_secrets,
}
"""The checks by name. Each gets a `Subject` and gives what is wrong, as texts for the author of the component."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that a component does not do as every component should.

    Attributes:
        type: The type of the component.
        check: The name of the check.
        text: What is wrong, and what to do.
    """

    type: str
    check: str
    text: str


class About(TypedDict, total=False):
    """What an author says about a component."""

    cases: Sequence[Case]
    """Besides the examples: what shows the rest of it."""
    needs: Mapping[str, Json]
    """Settings without which it cannot be loaded, though no single one of them is required."""
    unreached: Mapping[str, str]
    """Relations that no case can reach, each with the reason."""
    public: Sequence[str]
    """Options that look like secrets and are none."""


def check(component: type[Component[Any]] | str, **about: Unpack[About]) -> list[Problem]:
    """Give all that is wrong with a component, given as class or type. Must not be called inside an event loop.

    Raises:
        EngineError: When there is no component of the type.
    """
    subject = _subject(component, about)
    return [Problem(subject.name, name, text) for name, run in CHECKS.items() for text in run(subject)]


def conformance(component: type[Component[Any]] | str, **about: Unpack[About]) -> Callable[..., None]:
    """Give a test function for pytest, with one test for each check: `test_conforms = conformance(DoorState)`.

    Args:
        component: The class, or its type.
        **about: As `About`.

    Raises:
        EngineError: When there is no component of the type.
    """
    return _test([_subject(component, about)])


def conformance_of(package: str, about: Mapping[str, About] | None = None) -> Callable[..., None]:
    """Give a test function for pytest, with one test for each check of each component that a package has registered.

    Args:
        package: The name of the Python package; it is imported when an entry point names it.
        about: What is said about components, by type.

    Raises:
        ValueError: When it has registered none, or something is said about one that it has not.
    """
    registry = Registry()
    found = [registry.get(name) for name in registry.types()]
    of_package = {info_of(one).type: one for one in found if f"{one.__module__}.".startswith(f"{package}.")}
    if not of_package:
        raise ValueError(f"the package {package!r} has registered no component; import it first")
    said = about or {}
    if strange := sorted(set(said) - set(of_package)):
        raise ValueError(f"the package {package!r} has no component {strange[0]!r}")
    return _test([_subject(one, said.get(name, About())) for name, one in of_package.items()])


def _subject(component: type[Component[Any]] | str, about: About) -> Subject:
    found = Registry().get(component) if isinstance(component, str) else component
    return Subject(
        found,
        tuple(about.get("cases", ())),
        needs=about.get("needs", {}),
        unreached=about.get("unreached", {}),
        public=about.get("public", ()),
    )


def _test(subjects: Sequence[Subject]) -> Callable[..., None]:
    import pytest

    tests = [pytest.param(subject, name, id=f"{subject.name}: {name}") for subject in subjects for name in CHECKS]

    @pytest.mark.parametrize(("subject", "check_name"), tests)
    def test_conforms(subject: Subject, check_name: str) -> None:
        problems = list(CHECKS[check_name](subject))
        if problems:
            listed = "\n".join(f"  - {text}" for text in problems)
            pytest.fail(f"component {subject.name!r}, {check_name}:\n{listed}", pytrace=False)

    return test_conforms
