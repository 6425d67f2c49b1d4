"""What models cost and how much they read: by name, from a file that users may edit."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from catenary_components.ai.messages import Usage

T = TypeVar("T")

FILE_VARIABLE: Final = "CATENARY_PRICES"
"""The environment variable that names a file of prices; what it says counts before what is known here."""

OWN_FILE: Final = Path(__file__).with_name("prices.yaml")
_MILLION: Final = 1_000_000
_FIELDS: Final = ("input", "output", "cached", "cacheWrite")
_DATE: Final = re.compile(r"-\d{4}-?\d{2}-?\d{2}$")


@dataclass(frozen=True, slots=True)
class Price:
    """What a million tokens cost, in US dollars.

    Attributes:
        input: Of the request.
        output: Of the reply, thoughts included.
        cached: Of the request, where the service still had them.
        cache_write: Of the request, where the service keeps them for later.
        longer_than: Tokens of a request for which `longer` does not hold yet.
        longer: The price of requests with more tokens; `None` when it is the same.
    """

    input: float = 0.0
    output: float = 0.0
    cached: float = 0.0
    cache_write: float = 0.0
    longer_than: int = 0
    longer: Price | None = None

    def of(self, usage: Usage) -> float:
        """Give what these tokens of one call cost."""
        if self.longer is not None and usage.prompt > self.longer_than:
            return self.longer.of(usage)
        plain = max(usage.prompt - usage.cached - usage.cache_written, 0)
        cost = plain * self.input + usage.cached * self.cached + usage.cache_written * self.cache_write
        return (cost + usage.completion * self.output) / _MILLION


class _Known(NamedTuple):
    """What a file says, by patterns in lower case."""

    prices: tuple[tuple[str, Price], ...]
    windows: tuple[tuple[str, int], ...]


class PriceFileError(ValueError):
    """A file of prices cannot be read; the text says what is wrong in it."""


class Prices:
    """Prices and windows by model. Files given first count first, and in a file the first pattern that fits."""

    def __init__(self, files: Sequence[Path] = (OWN_FILE,)) -> None:
        known = [_read(file, file.stat().st_mtime_ns) for file in files]
        self._rows = [row for one in known for row in one.prices]
        self._windows = [row for one in known for row in one.windows]

    @classmethod
    def of(cls, file: Path | None) -> Prices:
        """Read a user's file, if there is one, and behind it the prices that are known here.

        Raises:
            PriceFileError: When it cannot be read.
        """
        if file is None:
            return cls()
        if not file.is_file():
            raise PriceFileError(f"there is no file of prices: {file}")
        return cls((file, OWN_FILE))

    def find(self, model: str) -> Price | None:
        """Give the price of a model, `provider:name` or a name alone; `None` when it is not known.

        A name that fits nowhere is looked for without the date behind it.
        """
        return _found(self._rows, model.lower()) or _found(self._rows, _DATE.sub("", model.lower()))

    def window(self, model: str) -> int:
        """Give how many tokens a model can read, question and answer together; 0 when it is not known."""
        return _found(self._windows, model.lower()) or _found(self._windows, _DATE.sub("", model.lower())) or 0


def _found(rows: Iterable[tuple[str, T]], name: str) -> T | None:
    bare = name.partition(":")[2] or name
    return next((value for pattern, value in rows if fnmatchcase(name if ":" in pattern else bare, pattern)), None)


@lru_cache(maxsize=16)
def _read(file: Path, changed_ns: int) -> _Known:  # noqa: ARG001 - read again when it changes
    import yaml

    try:
        content: Any = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise PriceFileError(f"the file of prices {file} cannot be read: {error}") from None
    given: Mapping[str, Any] = cast("Mapping[str, Any]", content) if isinstance(content, dict) else {}
    windows: Any = given.get("windows", {})
    models: Any = given.get("models", {} if windows else None)
    if not isinstance(models, dict) or not isinstance(windows, dict):
        raise PriceFileError(f"the file of prices {file} must have `models`: names, each with its prices")
    prices = cast("Mapping[object, Any]", models).items()
    sizes = cast("Mapping[object, Any]", windows).items()
    return _Known(
        tuple((str(pattern).lower(), _price(file, str(pattern), row)) for pattern, row in prices),
        tuple((str(pattern).lower(), _window(file, str(pattern), size)) for pattern, size in sizes),
    )


def _window(file: Path, pattern: str, size: Any) -> int:
    if isinstance(size, bool) or not isinstance(size, int) or size < 0:
        raise PriceFileError(f"the window of {pattern!r} in {file} must be a number of tokens")
    return size


def _price(file: Path, pattern: str, row: Any) -> Price:
    fields: dict[str, Any] = dict(cast("Mapping[str, Any]", row)) if isinstance(row, dict) else {}
    longer: Any = fields.pop("longer", None)
    if longer is None:
        return _plain(file, pattern, fields)
    over: dict[str, Any] = dict(cast("Mapping[str, Any]", longer)) if isinstance(longer, dict) else {}
    than: Any = over.pop("than", None)
    if not isinstance(than, int) or isinstance(than, bool) or than < 0:
        raise PriceFileError(f"`longer` of {pattern!r} in {file} must have `than`: a number of tokens")
    return replace(_plain(file, pattern, fields), longer_than=than, longer=_plain(file, pattern, over))


def _plain(file: Path, pattern: str, fields: Mapping[str, Any]) -> Price:
    wrong = [name for name in fields if name not in _FIELDS]
    values = [fields.get(name) for name in ("input", "output")]
    if wrong or not all(_is_price(value) for value in [*fields.values(), *values]):
        wanted = "{input, output, cached, cacheWrite, longer}, in US dollars a million tokens"
        raise PriceFileError(f"the price of {pattern!r} in {file} must be {wanted}; input and output are required")
    read, written = float(fields["input"]), float(fields["output"])
    return Price(read, written, float(fields.get("cached", read)), float(fields.get("cacheWrite", read)))


def _is_price(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value >= 0
