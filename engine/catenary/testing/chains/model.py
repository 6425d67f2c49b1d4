"""What a file of chain tests may say: one pydantic model for each part, and the JSON Schema made of them."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic.alias_generators import to_camel

from catenary.durations import duration_s
from catenary.jsontext import Json  # noqa: TC001 - pydantic reads it
from catenary.outcome import Status  # noqa: TC001 - pydantic reads it


def _listed(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else [value]


def _text(value: Any) -> Any:
    return str(value) if type(value) is int else value


Seconds: TypeAlias = Annotated[float, BeforeValidator(duration_s, json_schema_input_type=float | str)]
Text: TypeAlias = Annotated[str, BeforeValidator(_text, json_schema_input_type=str | int)]
Names: TypeAlias = Annotated[list[str], BeforeValidator(_listed, json_schema_input_type=str | list[str])]


class Part(BaseModel):
    """Base of all parts: camelCase keys, and no others than these."""

    model_config = ConfigDict(
        alias_generator=to_camel, populate_by_name=True, extra="forbid", frozen=True, arbitrary_types_allowed=True
    )

    def gives(self, name: str) -> bool:
        """Tell whether the file says this, be it `null`."""
        return name in self.model_fields_set


def _field(help: str, default: Any = None, **more: Any) -> Any:  # noqa: A002 - as for options of components
    return Field(default, description=help, **more)


def _mapping(help: str) -> Any:  # noqa: A002 - as for options of components
    return Field(default_factory=dict, description=help)


def _list(help: str) -> Any:  # noqa: A002 - as for options of components
    return Field(default_factory=list, description=help)


class Input(Part):
    """The message that a case begins with."""

    data: Json = _field("The payload: any JSON value, or text.", "")
    file: str = _field("A file, beside this one, that holds the payload.", "")
    type: str = _field("The business type of the message.", "")
    data_type: str = _field("`JSON`, `TEXT` or `BINARY` (then the data is hex digits).", "JSON")
    metadata: dict[str, Json] = _mapping("The metadata of the message.")
    id: str = _field("The id of the message.", "")
    ts: int = _field("The time of the message, in milliseconds since 1970.", 0)


class Sent(Part):
    """One message that a mock sends."""

    data: Json = _field("The payload; texts may hold `${...}`, which sees the message that came. Absent: unchanged.")
    metadata: dict[str, Json] = _mapping("Entries that are added to the metadata; texts may hold `${...}`.")
    type: str | None = _field("The business type; absent: unchanged.")
    data_type: str | None = _field("The data type; absent: unchanged.")
    relation: str = _field("The relation it leaves by.", "Success")


class Mock(Sent):
    """What a node does, in one visit, in place of its component."""

    error: Text | None = _field("The visit fails with this error: the message leaves by `Failure`.")
    delay: Seconds = _field("How long the visit takes, such as `2s`; no time passes in truth.", 0)
    sends: list[Sent] | None = _field("Several messages that leave, one after the other; in place of the above.")
    silent: bool = _field("True: nothing is sent on, and the branch ends.", False)


Mocks: TypeAlias = Annotated[list[Mock], BeforeValidator(_listed, json_schema_input_type=Mock | list[Mock])]


class Payload(Part):
    """What is expected of a message."""

    data: Json = _field("The whole payload; matchers such as `{$gt: 3}` may stand in place of values.")
    contains: Json = _field("A part of the payload: keys that are not named may be there too.")
    metadata: dict[str, Json] = _mapping("Entries of the metadata; others may be there too.")
    type: str | None = _field("The business type.")
    data_type: str | None = _field("The data type.")
    that: Names = _list("Expressions that are true for the message, such as `msg.t > 3`.")


Payloads: TypeAlias = Annotated[list[Payload], BeforeValidator(_listed, json_schema_input_type=Payload | list[Payload])]


class ExpectedEnd(Payload):
    """One branch that ends."""

    node: str | None = _field("The node at which it ends.")
    relation: str | None = _field("The relation by which it ends.")
    error: Json = _field("The error: a part of its text, or a matcher.")


class Expect(Payload):
    """What is expected of a run; `data`, `contains`, `metadata` and `that` of its answer."""

    status: Status | None = _field("What the run comes to; `completed` unless an error is expected.")
    error: Json = _field("The error of the run: a part of its text, or a matcher.")
    path: list[str] | None = _field("All nodes visited, in order; those of other chains as `chain:node`.")
    contains_path: list[str] | None = _field("Nodes visited in this order; others may be between them.")
    visited: Names = _list("Nodes that are visited, in any order.")
    not_visited: Names = _list("Nodes that are not visited.")
    visits: dict[str, int] = _mapping("How often nodes are visited.")
    relations: dict[str, Names] = _mapping("By node, the relations that messages leave it by, in order.")
    received: dict[str, Payloads] = _mapping("By node, the message of each visit that reaches it.")
    ends: list[ExpectedEnd] | None = _field("All branches that end and count as answers, in any order.")
    max_duration: Seconds | None = _field("The longest time of the run, by the clock of the test.")


class Setting(Part):
    """What a case runs in; in the file itself it holds for all cases."""

    properties: dict[str, Json] = _mapping("What the chain reads as `${global.KEY}`.")
    vars: dict[str, Json] = _mapping("Variables of the chain that are replaced.")
    env: dict[str, str] = _mapping("Environment variables that are set meanwhile.")
    mocks: dict[str, Mocks] = _mapping(
        "By node id, what the node does in place of its component: one result, or one for each visit, the last of "
        "which holds on. A node of another chain is named `chain:node`."
    )
    allow_external: bool | list[str] = _field(
        "True, or the ids of the nodes, to let nodes that are not mocked call the outside.", False
    )
    cassette: str = _field(
        "A cassette beside this file that answers in place of the services of models: write one with `catenary run "
        "--record FILE`.",
        "",
    )
    clock: Literal["fake", "real"] = _field("`fake`: waits of the chain take no time.", "fake")
    now: int | None = _field("The time of day at the beginning, in milliseconds since 1970.")
    timeout: Seconds = _field("How long a case may take in truth.", 10)


class Case(Setting):
    """One run of the chain and what is expected of it."""

    name: str = _field("Its name, unique in the file.", ...)
    input: Input = _field("The message that the run begins with.", Input())
    start: Names = _list("The node or nodes to start at; the chain's first node if absent.")
    expect: Expect = _field("What is expected; without it, that the run completes.", Expect())
    rows: list[dict[str, Json]] = _list("The case is run once for each row; `<key>` stands for its values.")
    skip: str = _field("Why the case is left out.", "")
    only: bool = _field("True leaves out all other cases of the file.", False)


class Suite(Setting):
    """A file of chain tests."""

    chain: str = _field("The file of the chain; absent: the one beside this file, of the same name.", "")
    load: Names = _list("Files of other chains that are loaded before, such as those that `flow` runs.")
    chains: Names = _list("As `load`; folders may be among them, whose chains are all loaded.")
    components: Names = _list("Chains that are component types, as `FILE` or `TYPE=FILE`; without TYPE it is their id.")
    shared: Names = _list("Files with nodes that are shared resources, which chains borrow with `ref://ID`.")
    tools: Names = _list("Python files, whose functions are tools of agents.")
    cases: list[Case] = _field("The cases.", ..., min_length=1)


def suite_schema() -> dict[str, Json]:
    """Give the JSON Schema of a file of chain tests, for editors."""
    schema = Suite.model_json_schema(by_alias=True)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "Tests of a chain"}
