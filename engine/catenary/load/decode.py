"""From a node's raw configuration to its `Config`: lenient about keys and kinds, exact about what is wrong."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeVar, Union, cast, get_args, get_origin

from pydantic import ValidationError
from pydantic.alias_generators import to_camel

from catenary.component import Config
from catenary.errors import ExpressionError
from catenary.load.complaints import EMPTY, complaint, expression_error, guess, not_this
from catenary.load.names import did_you_mean
from catenary.load.places import entries, value_at
from catenary.load.quoting import as_written

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo
    from pydantic_core import ErrorDetails

    from catenary.expr import Environment
    from catenary.jsontext import Json
    from catenary.load.places import Path

ConfigT = TypeVar("ConfigT", bound=Config)

_LISTS: Final = (list, tuple, set, frozenset)
UNKNOWN_OPTION: Final = "config.unknown-option"
"""The code of a name that no option has."""


@dataclass(frozen=True, slots=True)
class FieldProblem:
    """What is wrong with one option.

    Args:
        path: Keys and indexes from the configuration to the option, as they are written.
        text: What is wrong, with the option's name.
        hint: What to do, if there is more to say.
        error: The error of an expression, template or script that does not compile.
        code: The code of a warning.
    """

    path: Path
    text: str
    hint: str = ""
    error: ExpressionError | None = None
    code: str = UNKNOWN_OPTION


def decode(
    config_type: type[ConfigT],
    raw: Json,
    environment: Environment | None,
    *,
    written: Json = None,
) -> tuple[ConfigT | None, list[FieldProblem], list[FieldProblem]]:
    """Read a configuration.

    Keys match without regard to case and by the names of `option(also=...)`, `null` counts as absent, a value is
    converted where nothing is lost (`"1"` for 1, `"true"` for true, 1 for `"1"`, one value for a list of one).

    Args:
        config_type: The component's settings.
        raw: The configuration, placeholders resolved.
        environment: What expressions, templates and scripts are compiled in.
        written: The configuration with placeholders as written; error texts quote from it, so that nothing that
            came in by a placeholder is shown.

    Returns:
        The settings, `None` when anything is wrong; all that is wrong; and warnings: options that nobody knows, and
        those that are deprecated.
    """
    reading = _Reading(raw, raw if written is None else written)
    loose = reading.config(config_type, raw, ())
    context = None if environment is None else {"environment": environment}
    try:
        config = config_type.model_validate(loose, context=context)
    except ValidationError as error:
        details = error.errors(include_url=False)
        return None, _merged([reading.describe(config_type, one) for one in details]), reading.unknown
    except ExpressionError as error:
        return None, [FieldProblem((), first_line(error), error.hint, error)], reading.unknown
    return config, [], reading.unknown


def dsl_name(name: str, field: FieldInfo) -> str:
    """Give the name by which chains know a field: its alias, else its name in camelCase."""
    return field.alias or to_camel(name)


def other_names(field: FieldInfo) -> list[str]:
    """Give the other names of an option (`also`)."""
    return [str(name) for name in extra_of(field, "also") or ()]


def extra_of(field: FieldInfo, key: str) -> Json:
    """Give what `option` was told under `key`: `unit`, `label`, `also`, `secret`, `deprecated`; `None` when nothing."""
    extra = field.json_schema_extra
    return cast("dict[str, Json]", extra).get(f"x-{key}") if isinstance(extra, dict) else None


@dataclass(frozen=True, slots=True)
class _Finding:
    """What pydantic found, in our words; `ending` quotes the value."""

    path: Path
    text: str
    ending: str = ""
    hint: str = ""
    error: ExpressionError | None = None

    def joined(self, other: _Finding) -> _Finding:
        """Join what two members of a union say about the same option."""
        if self.error or other.error:
            return self if self.error else other
        more = other.text.partition(" must be ")[2]
        text = f"{self.text} or {more}" if more and more not in self.text else self.text
        return _Finding(self.path, text, self.ending or other.ending, self.hint or other.hint)


def _merged(findings: list[_Finding]) -> list[FieldProblem]:
    """Make one problem of all that is said about the same option; what is said about a part of it is enough."""
    by_path: dict[Path, _Finding] = {}
    for finding in findings:
        known = by_path.get(finding.path)
        by_path[finding.path] = known.joined(finding) if known else finding
    inside = {path[:length] for path in by_path for length in range(len(path))}
    return [
        FieldProblem(one.path, one.text + one.ending, one.hint, one.error)
        for one in by_path.values()
        if one.path not in inside or not one.ending
    ]


def first_line(error: Exception) -> str:
    """Give the first line of an error's text; what follows shows the place, which a problem has anyway."""
    return str(error).split("\n", maxsplit=1)[0]


class _Reading:
    """One reading of a configuration: brings it into the shape pydantic takes, and remembers what was written."""

    def __init__(self, raw: Json, written: Json) -> None:
        self.raw = raw
        self.written = written
        self.paths: dict[Path, Path] = {}  # path by field names -> path as written
        self.unknown: list[FieldProblem] = []

    def config(self, config_type: type[Config], raw: Json, path: Path, names: Path = ()) -> Json:
        """Give the options of a `Config` by field name."""
        self.paths[names] = path
        if not isinstance(raw, dict):
            return raw
        mapping = cast("dict[str, Json]", raw)
        by_name = field_names(config_type)
        result: dict[str, Json] = {}
        for key in sorted(mapping, key=lambda key: by_name.get(key.lower(), ("", 9))[1]):
            name = by_name.get(key.lower(), ("", 9))[0]
            value = mapping[key]
            if name in result:
                self._note_second(config_type, name, (*path, key))
            elif name and value is not None:
                field = config_type.model_fields[name]
                result[name] = self.value(field.annotation, value, (*path, key), (*names, name))
                self._note_deprecated(field, value, (*path, key))
            elif not name:
                self._note_unknown(config_type, key, value, path, result)
        return result

    def value(self, kind: Any, value: Json, path: Path, names: Path) -> Json:
        """Bring a value nearer to the kind that a field has."""
        self.paths[names] = path
        kind = _plain(kind, value)
        origin = get_origin(kind) or kind
        if isinstance(origin, type) and issubclass(origin, Config):
            return self.config(origin, value, path, names)
        if origin in _LISTS:
            return self._list(kind, value, path, names)
        if origin is dict and value.__class__ is dict and len(get_args(kind)) == 2:
            item_kind = get_args(kind)[1]
            return {key: self.value(item_kind, item, (*path, key), (*names, key)) for key, item in entries(value)}
        if kind is str and isinstance(value, bool):
            return "1" if value else "0"
        return value

    def _list(self, kind: Any, value: Json, path: Path, names: Path) -> Json:
        arguments = [argument for argument in get_args(kind) if argument is not Ellipsis]
        item_kind = arguments[0] if len(arguments) == 1 else Any
        if not isinstance(value, list):
            return [self.value(item_kind, value, path, (*names, 0))]
        items = cast("list[Json]", value)
        return [self.value(item_kind, item, (*path, index), (*names, index)) for index, item in enumerate(items)]

    def _note_deprecated(self, field: FieldInfo, value: Json, path: Path) -> None:
        instead = extra_of(field, "deprecated")
        if isinstance(instead, str) and value != field.default:  # editors write all defaults
            text = f"the option {path[-1]!r} is deprecated"
            self.unknown.append(FieldProblem(path, text, instead, code="config.deprecated-option"))

    def _note_second(self, config_type: type[Config], name: str, path: Path) -> None:
        shown = dsl_name(name, config_type.model_fields[name])
        text = f"the option {path[-1]!r} is {shown!r} again, which has another value already"
        self.unknown.append(FieldProblem(path, text, "remove one of the two"))

    def _note_unknown(
        self, config_type: type[Config], key: str, value: Json, path: Path, result: dict[str, Json]
    ) -> None:
        if config_type.model_config.get("extra") == "allow":
            result[key] = value
            return
        known = [dsl_name(name, field) for name, field in config_type.model_fields.items()]
        listed = ", ".join(known) if known else "none"
        hint = did_you_mean(key, known, f"the options are: {listed}")
        self.unknown.append(FieldProblem((*path, key), f"the option {key!r} is not known", hint))

    def describe(self, config_type: type[Config], details: ErrorDetails) -> _Finding:
        """Say in the words of a chain author what pydantic found."""
        names, shown, field = self._follow(config_type, details["loc"])
        path = self._path(names, shown)
        error = expression_error(details)
        if error is not None:
            return _Finding(path, f"{shown}: {first_line(error)}", hint=error.hint, error=error)
        if details["type"] == "missing":
            hint = field.description if field is not None else ""
            return _Finding(path, f"the option {shown!r} is required", hint=hint or "")
        text = as_written(complaint(details), value_at(self.raw, path), value_at(self.written, path))
        if field is not None and extra_of(field, "secret"):
            return _Finding(path, f"{shown} {text}")
        value = value_at(self.written, path)
        is_quoted = isinstance(value, str) and repr(value) in text
        ending = not_this(value) if text.startswith("must ") and text != EMPTY and not is_quoted else ""
        return _Finding(path, f"{shown} {text}", ending, guess(details, value))

    def _follow(self, config_type: type[Config], location: tuple[int | str, ...]) -> tuple[Path, str, FieldInfo | None]:
        """Give the path by field names, the option as chains name it, and its field.

        What pydantic adds to a location about the members of a union is left out.
        """
        names: Path = ()
        shown: list[str] = []
        field: FieldInfo | None = None
        kinds: list[Any] = [config_type]
        for step in location:
            configs = [kind for kind in kinds if isinstance(kind, type) and issubclass(kind, Config)]
            found = next((one for one in (_named_field(config, step) for config in configs) if one), None)
            if found:
                name, field = found
                names = (*names, name)
                shown.append(dsl_name(name, field))
                kinds = members(field.annotation)
            elif (*names, step) in self.paths:
                names = (*names, step)
                shown.append(str(step))
                kinds = [plain for kind in kinds for item in get_args(kind) for plain in members(item)]
        return names, ".".join(shown) or "the configuration", field

    def _path(self, names: Path, shown: str) -> Path:
        """Give the written path of an option; one that is not there has its own name in what it should be in."""
        if names in self.paths:
            return self.paths[names]
        return (*self.paths[names[:-1]], shown.rpartition(".")[2])


@lru_cache(maxsize=1024)
def field_names(config_type: type[Config]) -> dict[str, tuple[str, int]]:
    """Give field name and rank by each lower-case name an option may be given by; rank 0 is its own name."""
    result: dict[str, tuple[str, int]] = {}
    for name, field in config_type.model_fields.items():
        for rank, other in enumerate((dsl_name(name, field), name, *other_names(field))):
            result.setdefault(other.lower(), (name, rank))
    return result


def _plain(kind: Any, value: Json) -> Any:
    """Strip what is around a kind; of several kinds choose the one that the value has the shape of."""
    kinds = members(kind)
    if len(kinds) == 1:
        return kinds[0]
    for plain in kinds:
        origin = get_origin(plain) or plain
        if isinstance(value, list) and origin in _LISTS:
            return plain
        if isinstance(value, dict) and isinstance(origin, type) and issubclass(origin, (Config, dict)):
            return plain
    return Any


def members(kind: Any) -> list[Any]:
    """Give the kinds of a union, or the one kind; `None`, and what annotates a kind, is left out."""
    while get_origin(kind) is Annotated:
        kind = get_args(kind)[0]
    if get_origin(kind) in {Union, UnionType}:
        return [plain for member in get_args(kind) if member is not NoneType for plain in members(member)]
    return [kind]


def _named_field(config: type[Config], step: str | int) -> tuple[str, FieldInfo] | None:
    for name, field in config.model_fields.items():
        if step in {name, dsl_name(name, field)}:
            return name, field
    return None
