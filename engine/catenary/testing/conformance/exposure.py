"""Secrets: whatever shows settings, errors and runs must not show them."""

from __future__ import annotations

import asyncio
import io
import logging
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from typing import TYPE_CHECKING, Any, Final, get_args

from pydantic import BaseModel

from catenary.errors import CatenaryError
from catenary.expr import Template
from catenary.jsontext import dumps
from catenary.load.decode import dsl_name, extra_of
from catenary.testing.conformance.case import Case
from catenary.testing.conformance.running import drive, engine_for, messages, parts_of, told

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping

    from pydantic.fields import FieldInfo

    from catenary.engine import Engine
    from catenary.jsontext import Json
    from catenary.testing.conformance.case import Subject

SECRET: Final = "conformance-s3cret-9f41"
"""What every secret option is set to."""

_WORDS: Final = ("password", "passphrase", "passwd", "secret", "credential", "apikey", "privatekey", "accesskey")


def check_secrets(subject: Subject) -> Iterator[str]:
    """What is secret is marked so, and is seen neither in reprs, nor in logs, events and JSON."""
    fields = {dsl_name(name, info): info for name, info in subject.component.config_type().model_fields.items()}
    secret = {name: info for name, info in fields.items() if extra_of(info, "secret")}
    for name in _unmarked(subject.component.config_type()):
        if name not in subject.public:
            yield (
                f"the option {name!r} looks like a secret and is not marked; write `option(..., secret=True)`, or say "
                f"that it is none (`public=[{name!r}]`)"
            )
    for name, info in secret.items():
        yield from dict.fromkeys(
            text for case in _cases(subject) for text in _exposed(subject, case, name, _value(info))
        )


def _cases(subject: Subject) -> list[Case]:
    """Give what settings are looked at in: the defaults, all examples, also those that cannot be run, and the cases."""
    shown = [Case(f"example: {one.text}", one.config, inputs=()) for one in subject.component.examples if not one.runs]
    given = [one for one in subject.cases() if one.chain is None]
    return [subject.defaults(), *shown, *given]


def _unmarked(config: type[BaseModel], above: tuple[type, ...] = ()) -> Iterator[str]:
    """Give the options that look like secrets and are not marked, also in settings within settings."""
    for name, info in config.model_fields.items():
        option = dsl_name(name, info)
        if extra_of(info, "secret"):
            continue
        if _looks_secret(option, info):
            yield option
        for kind in _kinds(info.annotation):
            if isinstance(kind, type) and issubclass(kind, BaseModel) and kind not in above:
                yield from (f"{option}.{one}" for one in _unmarked(kind, (*above, config)))


def _kinds(annotation: Any) -> Iterator[Any]:
    """Give what a type is made of: itself, and the types that it names."""
    yield annotation
    for inner in get_args(annotation):
        yield from _kinds(inner)


def _looks_secret(name: str, info: FieldInfo) -> bool:
    lower = name.lower()
    is_text = any(kind in (str, Template) for kind in _kinds(info.annotation))
    return is_text and not lower.endswith("file") and any(word in lower for word in _WORDS)


def _value(info: FieldInfo) -> Json:
    """Give the secret in the form that an option takes."""
    written = str(info.annotation)
    if written.startswith(("list", "tuple", "set")):
        return [SECRET]
    return {"key": SECRET} if written.startswith("dict") else SECRET


def _exposed(subject: Subject, case: Case, option: str, value: Json) -> Iterator[str]:
    config: Mapping[str, Json] = {**case.config, option: value}
    places: dict[str, str] = {}
    with engine_for(subject, case) as make, _output(places):
        asyncio.run(_look(subject, case, config, make(), places))
    for place, text in places.items():
        if SECRET in text:
            yield (
                f"the secret option {option!r} is seen in {place} ({case.text}): {_around(text)}; never put it into "
                "texts of your own"
            )


async def _look(
    subject: Subject, case: Case, config: Mapping[str, Json], engine: Engine, places: dict[str, str]
) -> None:
    events: list[Any] = []
    engine.subscribe(events.append)
    try:
        async with asyncio.timeout(case.timeout_s), engine:
            chain = engine.load(subject.around(config, case.routers))
            parts = parts_of(subject, chain)
            with suppress(Exception):  # a client that is refused, as the secret is another one
                await drive(subject, case, chain)
            places["the repr of the component"] = "".join(map(repr, parts))
            places["the repr of the settings"] = "".join(f"{part.config!r} {part.config}" for part in parts)
            outcomes = [await chain.run(one) for one in ([] if subject.is_endpoint else messages(case))]
            places["the outcome"] = "".join(map(repr, outcomes))
            ends = [end for outcome in outcomes for end in outcome.ends]
            places["the error of a run"] = "".join(str(end.error) for end in ends if end.error is not None)
            places["the status of an endpoint"] = repr(engine.endpoints.status())
    except CatenaryError as error:
        places["the error at load"] = told(error) + repr(error)
    except TimeoutError:
        pass  # other checks tell of it
    finally:
        await engine.close(grace_s=1.0)
    places["the events"] = "".join(map(repr, events))
    places["the JSON of the events"] = "".join(dumps(event.to_dict()) for event in events)


@contextmanager
def _output(places: dict[str, str]) -> Generator[None]:
    """Catch all that is logged and printed."""
    records: list[logging.LogRecord] = []
    make = logging.getLogRecordFactory()

    def kept(*args: Any, **given: Any) -> logging.LogRecord:
        records.append(make(*args, **given))
        return records[-1]

    root = logging.getLogger()
    level = root.level
    root.setLevel(logging.DEBUG)
    logging.setLogRecordFactory(kept)  # sees also what loggers keep from the root
    printed = io.StringIO()
    try:
        with redirect_stdout(printed), redirect_stderr(printed):
            yield
    finally:
        logging.setLogRecordFactory(make)
        root.setLevel(level)
    formatter = logging.Formatter()
    places["the log"] = "\n".join(f"{formatter.format(record)} {vars(record)}" for record in records)
    places["what is printed"] = printed.getvalue()


def _around(text: str) -> str:
    line = next(line for line in text.splitlines() if SECRET in line)
    start = line.index(SECRET)
    return line[max(start - 60, 0) : start + len(SECRET) + 20].replace(SECRET, "(the secret)")
