"""What `catenary new` writes: the files beside this one, with names in place of marks such as `@@TYPE@@`."""

from __future__ import annotations

import keyword
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from catenary.errors import EngineError

if TYPE_CHECKING:
    from collections.abc import Mapping

_HERE: Final = Path(__file__).parent
_TYPE: Final = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:/[A-Za-z][A-Za-z0-9]*)*")
_CATEGORY: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_PROJECT: Final = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:[-_.][A-Za-z0-9]+)*")
_SUFFIX: Final = ".tmpl"


@dataclass(frozen=True, slots=True)
class Names:
    """The names of a component and its package.

    Args:
        type: The node type, such as `acme/doorState`.
        category: The category.
        project: The name of the package, such as `acme-door-state`.
    """

    type: str
    category: str
    project: str

    @classmethod
    def of(cls, type_name: str, category: str = "transform", project: str = "") -> Names:
        """Make the names that are not given.

        Raises:
            EngineError: When one of them is no name for such a thing.
        """
        _need(_TYPE, type_name, "a component", "write letters and digits in camelCase, such as acme/doorState")
        words = _words(type_name)
        last = _words(type_name.rpartition("/")[2])
        if keyword.iskeyword("_".join(last)):
            raise _refused(type_name, "a component", "it is a word of Python")
        if last[0].startswith("test"):
            raise _refused(type_name, "a component", "pytest takes a class called so for a test; begin otherwise")
        _need(_CATEGORY, category, "a category", "write letters and digits, such as `transform`")
        names = cls(type_name, category, project or "-".join(words if "/" in type_name else ["catenary", *words]))
        _need(_PROJECT, names.project, "a package", "write letters, digits and dashes, such as acme-door-state")
        if keyword.iskeyword(names.module) or names.module in {*sys.stdlib_module_names, "catenary", "pytest"}:
            raise _refused(names.project, "a package", "Python has a module or a word of that name; choose another")
        return names

    @property
    def module(self) -> str:
        """The name by which the package is imported."""
        return re.sub(r"\W", "_", self.project)

    @property
    def marks(self) -> Mapping[str, str]:
        """What stands in the files for each mark."""
        from catenary import __version__

        last = _words(self.type.rpartition("/")[2])
        return {
            "TYPE": self.type,
            "CATEGORY": self.category,
            "PROJECT": self.project,
            "MODULE": self.module,
            "SNAKE": "_".join(last),
            "CLASS": "".join(word.capitalize() for word in last),
            "CATENARY": __version__,
        }


def _need(pattern: re.Pattern[str], name: str, what: str, hint: str) -> None:
    if not pattern.fullmatch(name):
        raise _refused(name, what, hint)


def _refused(name: str, what: str, hint: str) -> EngineError:
    return EngineError(f"{name!r} is no name for {what}", hint=hint)


def _words(name: str) -> list[str]:
    """Give the words of a name in small letters: `acme/doorState` has three."""
    return re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", name).replace("/", " ").lower().split()


def component_files(names: Names) -> dict[str, str]:
    """Give the files of a package with one component, by path."""
    folder = _HERE / "component"
    marks = names.marks
    found: dict[str, str] = {}
    for path in sorted(folder.rglob(f"*{_SUFFIX}")):
        place = path.relative_to(folder).as_posix().removesuffix(_SUFFIX)
        text = path.read_text(encoding="utf-8")
        found[_placed(place, marks)] = re.sub("@@([A-Z]+)@@", lambda match: marks[match[1]], text)
    return found


def _placed(place: str, marks: Mapping[str, str]) -> str:
    parts = place.split("/")
    parts = [marks["MODULE"] if part == "module" else part for part in parts]
    if parts[-1] == "gitignore":
        parts[-1] = ".gitignore"
    parts[-1] = parts[-1].replace("component", marks["SNAKE"])
    return "/".join(parts)
