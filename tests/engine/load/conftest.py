"""Small components for the tests of loading."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from tests.isolation import no_components

from catenary.component import Component, Config, option, register
from catenary.endpoints import Endpoint, EndpointConfig
from catenary.errors import ConfigError, ExpressionError
from catenary.expr import Expression, Script, Template
from catenary.registry import Registry
from catenary.relation import FAILURE, FALSE, SUCCESS, TRUE, Relation


class Thing:
    """What has no JSON form."""


class Deep(Config):
    """A part of a part."""

    depth: int = option(1, help="How deep.")


class Part(Config):
    """A part of the settings of a filter."""

    deep: list[Deep] = option([], help="Its parts.")
    weight: int = option(1, help="How much it counts.")


class FilterConfig(Config):
    """Settings of a filter."""

    test: Expression = option("true", help="What passes.", examples=["msg.t > 30"])
    text: Template = option("", help="Text of the log.")
    script: Script = option("", help="A script.")
    limit: int = option(10, ge=1, unit="messages", help="How many.", also=("max",))
    mode: Literal["fast", "slow"] = option("fast", help="How.")
    parts: list[Part] = option([], help="Parts.")
    password: str = option("", secret=True, help="Secret.")


class Filter(Component[FilterConfig]):
    """Pass what holds.

    A longer text about it.
    """

    relations = (TRUE, FALSE, FAILURE)


class Pass(Component[Config]):
    """Pass everything on."""


class Switch(Component[Config]):
    """Send by a name that the chain's author chose."""

    relations = (Relation("Default", help="None of them."),)
    free_relations = True


class CasesConfig(Config):
    """Settings of a switch that says where it sends to."""

    ways: list[str] = option([], help="The relations.")


class Cases(Component[CasesConfig]):
    """Send by a name out of the settings."""

    relations = (Relation("Default", help="None of them."),)
    free_relations = True

    def named_relations(self) -> list[str]:
        return self.config.ways


class Join(Component[Config]):
    """Collect."""

    collects = True


class End(Component[Config]):
    """End here."""

    relations = ()
    ends = True


class FlowConfig(Config):
    """Settings of a sub-chain."""

    target_id: str = option(min_length=1, help="Which chain.")
    extend: bool = option(False, help="Whether its ends go on one by one.")


class Flow(Component[FlowConfig]):
    """Run another chain."""


class Retrying(Component[Config]):
    """Retry by itself."""

    relations = (SUCCESS, FAILURE, Relation("Late", help="Too late."))
    retries = True


class CallConfig(Config):
    """Settings of a call."""

    rest_endpoint_url: str = option(help="Where to.", also=("url",))
    method: str = option(help="Which method.")
    headers: dict[str, str] = option({"a": "b"}, help="Headers.")
    names: list[str] = option([], help="Names.")
    rate: float = option(1.5, help="Rate.")
    on: bool = option(True, help="Whether.")
    part: Part | None = option(None, help="A part.")
    thing: Thing | None = option(None, help="A thing.")
    anything: Any = option(object(), help="Anything.")


class Bell(Endpoint[EndpointConfig, object]):
    """An endpoint by which nothing ever comes."""


class Call(Component[CallConfig]):
    """Call something."""

    def __init__(self, config: CallConfig) -> None:
        super().__init__(config)
        if config.method == "BAD":
            raise ValueError("the method BAD is not one")
        if config.method == "WORSE":
            raise ConfigError("the method WORSE is not one", hint="use another")
        if config.method == "FORMULA":
            raise ExpressionError("the method is no formula", source="FORMULA", position=2, hint="write a formula")


@pytest.fixture
def registry():
    with no_components():
        register("t/filter", category="filter", since="0.1", aliases=("t/f",))(Filter)
        register("pass", category="action")(Pass)
        register("switch", category="common")(Switch)
        register("cases", category="common")(Cases)
        register("join", category="common", label="Bring together")(Join)
        register("end", category="common")(End)
        register("flow", category="flow")(Flow)
        register("retrying", category="external")(Retrying)
        register("endpoint/call", category="endpoint")(Call)
        register("endpoint/bell", category="endpoint")(Bell)
        register("comment", category="common")(type("Comment", (Component,), {"__doc__": "A note.", "is_note": True}))
        yield Registry(discover=False)
