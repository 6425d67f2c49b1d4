"""The checks that need nothing but the class and its cases: each gives what is wrong as texts for the author."""

from __future__ import annotations

import asyncio
import inspect
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

from catenary.engine import Engine
from catenary.errors import CatenaryError
from catenary.json_schema import problems as misfits
from catenary.load.decode import dsl_name, extra_of
from catenary.load.schema import config_schema
from catenary.testing.conformance.metaschema import schema_problems
from catenary.testing.conformance.running import drive, engine_for, messages, parts_of, run_case, told

if TYPE_CHECKING:
    from collections.abc import Iterator

    from catenary.chain import Chain
    from catenary.component import Component
    from catenary.jsontext import Json
    from catenary.testing.conformance.case import Case, Subject


def check_schema(subject: Subject) -> Iterator[str]:
    """The JSON Schema of the settings is valid, and takes the examples."""
    schema = config_schema(subject.component)
    wrong = list(schema_problems(schema))
    yield from (
        f"the JSON Schema of its settings is not valid: {text}; look at the types of its options" for text in wrong
    )
    for example in subject.component.examples if not wrong else ():
        for text in misfits(dict(example.config), _resolved(schema)):
            yield f"the JSON Schema does not take the settings of the example {example.text!r}: {text}"


def _resolved(schema: dict[str, Json]) -> Json:
    """Give a schema with what it refers to in place; what refers to itself takes everything."""
    definitions: Any = schema.get("$defs", {})

    def resolve(part: Any, above: tuple[str, ...]) -> Any:
        if isinstance(part, list):
            return [resolve(item, above) for item in cast("list[Any]", part)]
        if not isinstance(part, dict):
            return part
        rules = cast("dict[str, Any]", part)
        name = str(rules.get("$ref", "")).rpartition("/")[2]
        if name:
            return {} if name in above else resolve(definitions.get(name, {}), (*above, name))
        return {key: resolve(value, above) for key, value in rules.items() if key != "$defs"}

    return resolve(schema, ())


def check_defaults(subject: Subject) -> Iterator[str]:
    """It can be loaded with the settings that are required, and no others."""
    least = subject.least()
    if least is None:
        yield "some options are required, and no example has them; give an example, or a case"
        return
    case = subject.defaults()
    with engine_for(subject, case) as make:
        engine = make()
        try:
            engine.load(subject.chain(case))
        except CatenaryError as error:
            yield f"it cannot be loaded with its defaults: {told(error)}; give its options defaults that are valid"
        finally:
            engine.close_sync()


def check_unknown_option(subject: Subject) -> Iterator[str]:
    """An option that it does not have is reported, and one that is misspelt with the right name."""
    least = subject.least()
    if subject.component.is_note or least is None:
        return
    names = [dsl_name(name, info) for name, info in subject.component.config_type().model_fields.items()]
    names = [name for name in names if not extra_of_option(subject, name, "deprecated")]
    wrong = _misspelt(names[0], names) if names else "conformanceOption"
    engine = Engine(endpoints=False)
    try:
        with engine_for(subject, subject.defaults()) as make:
            engine = make()
            found = engine.check(subject.around({**least, wrong: "x"}))
    finally:
        engine.close_sync()
    told_of = [problem for problem in found if wrong in problem.text]
    if not told_of:
        yield (
            f"the option {wrong!r}, which it does not have, is not reported; "
            "let its settings derive from `Config` and keep `extra` as it is"
        )
    elif names and not any(names[0] in f"{problem.text} {problem.hint}" for problem in told_of):
        yield f"the option {wrong!r} is reported without saying that {names[0]!r} was probably meant"


def extra_of_option(subject: Subject, option: str, key: str) -> Json:
    """Give what `option(...)` was told of an option under a key."""
    for name, info in subject.component.config_type().model_fields.items():
        if dsl_name(name, info) == option:
            return extra_of(info, key)
    return None


def _misspelt(name: str, known: list[str]) -> str:
    """Give a name that is none of those known, and close to one of them."""
    lower = {one.lower() for one in known}
    choices = [name + name[-1], name[:-1] + "zz", name + "zz"]
    return next(one for one in choices if one.lower() not in lower)


def check_examples(subject: Subject) -> Iterator[str]:
    """Each example, and each case, does what it says."""
    if not subject.component.examples:
        yield "it has no example; write at least one, for those who use it"
    yield from _strange_options(subject)
    for case in subject.cases():
        seen = run_case(subject, case)
        if seen.failure:
            yield f"{case.text}: {seen.failure}"
            continue
        if case.drive is not None:
            came = [message.data for message in seen.came]
            if case.data is not None and came != list(case.data):
                yield f"{case.text}: the data that came in is {came}, not {list(case.data)}"
            continue
        ends = [outcome.ends[-1] if outcome.ends else None for outcome in seen.outcomes]
        left = [str(end.relation) if end is not None else "nothing" for end in ends]
        if case.leaves_by is not None and left != list(case.leaves_by):
            reasons = [str(end.error) for end in ends if end is not None and end.error is not None]
            yield f"{case.text}: left by {left}, not by {list(case.leaves_by)} {reasons or ''}".rstrip()
        data = [end.message.data if end is not None else None for end in ends]
        if case.data is not None and data != list(case.data):
            yield f"{case.text}: the data is {data}, not {list(case.data)}"


def _strange_options(subject: Subject) -> Iterator[str]:
    """Tell of options in examples that there are not; who copies the example is told of them."""
    for example in subject.component.examples:
        with engine_for(subject, subject.defaults()) as make:
            engine = make()
            found = engine.check(subject.around(example.config))
            engine.close_sync()
        for problem in found:
            if problem.code == "config.unknown-option":
                yield f"example: {example.text}: {problem.text}; {problem.hint}"


def check_relations(subject: Subject) -> Iterator[str]:
    """Each relation that it declares is reached, and no other one is taken."""
    component = subject.component
    if subject.is_endpoint:
        return
    reached: set[str] = set()
    for case in subject.cases():
        reached |= run_case(subject, case).left_by
    declared = {str(relation) for relation in component.relations}
    for name in sorted(declared - reached - set(subject.unreached)):
        yield (
            f"no example and no case leaves by {name!r}; give a case that does (`cases=[Case(...)]`), take it out of "
            "`relations`, or say why none can (`unreached={...}`)"
        )
    if declared and not component.free_relations and not component.ends:
        for name in sorted(reached - declared - {"Failure"}):
            yield f"it leaves by {name!r}, which is not in its `relations`; declare it with a sentence of help"
    for name in sorted(set(subject.unreached) & reached):
        yield f"{name!r} is said to be unreached, and it is reached: take it out of `unreached`"


def check_close(subject: Subject) -> Iterator[str]:
    """It may be closed twice, and without having been opened."""
    for case in [subject.defaults(inputs=()), *subject.cases()]:
        with engine_for(subject, case) as make:
            try:
                failure = asyncio.run(_close_again(subject, case, make()))
            except Exception as error:
                failure = f"closing failed: {told(error)}"
        if failure:
            yield f"{case.text}: {failure}; let `close` do nothing the second time, and before `open`"


async def _close_again(subject: Subject, case: Case, engine: Engine) -> str:
    try:
        chain = engine.load(subject.chain(case))
    except CatenaryError:
        return ""  # other checks tell of it
    parts = parts_of(subject, chain)
    fresh = [type(part)(part.config) for part in parts]
    problem = await _close_all(fresh, "closed without being opened")
    async with engine:
        with suppress(CatenaryError):  # other checks tell of it
            await drive(subject, case, chain)
        for message in [] if subject.is_endpoint else messages(case):
            await chain.run(message)
        problem = problem or await _stop_all(engine, chain)
    return problem or await _close_all(parts, "closed once more") or await _close_all(parts, "closed a third time")


async def _stop_all(engine: Engine, chain: Chain) -> str:
    for built in chain.endpoints:
        endpoint = engine.endpoints.find(chain.id, built.definition.id)
        try:
            if endpoint is not None:
                await endpoint.stop()
        except Exception as error:
            return f"stopped, it raised {type(error).__name__}: {error}"
    return ""


async def _close_all(parts: list[Component[Any]], what: str) -> str:
    for part in parts:
        try:
            closing = part.close()
            if inspect.isawaitable(closing):
                await closing
        except Exception as error:
            return f"{what}, it raised {type(error).__name__}: {error}"
    return ""
