"""The examples of every registered component hold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from catenary import Engine, Example, Message
from catenary.component import of_process
from catenary.promised import promised

STANDARD = {
    name: component
    for name, promise in sorted(promised.items())
    if promise.package == "catenary_components" and (component := of_process(name))
}
EXAMPLES = [
    pytest.param(name, example, id=f"{name}: {example.text}")
    for name, component in STANDARD.items()
    for example in component.examples
    if example.runs
]


@pytest.mark.parametrize("name", STANDARD)
def test_a_component_has_an_example_and_an_explanation(name: str) -> None:
    component = STANDARD[name]
    assert component.examples
    assert component.__doc__
    assert all(relation.help for relation in component.relations)
    assert all(field.description for field in component.config_type().model_fields.values())


@pytest.mark.parametrize(("name", "example"), EXAMPLES)
async def test_an_example_holds(name: str, example: Example, load: Callable[..., Any], engine: Engine) -> None:
    placed = (f"node:{name}", dict(example.config))
    chain = load(["first:fork", placed], "first Success node") if STANDARD[name].collects else load([placed])
    sent = [data if isinstance(data, Message) else Message(data) for data in example.inputs]
    ends = [(await engine.run(chain.id, message)).ends[-1] for message in sent]
    assert [end.relation for end in ends] == list(example.leaves_by)
    if example.data is not None:
        assert [end.message.data for end in ends] == list(example.data)
    await engine.close()
