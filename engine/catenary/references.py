"""Options that name nodes of the same chain: loading reports the names of nodes that do not exist."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

from pydantic_core import core_schema

if TYPE_CHECKING:
    from pydantic_core import CoreSchema

    from catenary.jsontext import Json

__all__ = ["NodeId", "NodeIds", "NodeOutput", "id_text"]


class NodeId(str):
    """The id of a node that this node runs. Blanks around it do not count.

    Attributes:
        always_runs: True when the node that is named runs each time that this one does, so that a node that names
            itself would never end.
    """

    __slots__ = ()

    always_runs: ClassVar[bool] = True

    @property
    def named_nodes(self) -> tuple[str, ...]:
        """The ids of the nodes it names; what has this attribute is looked at when a chain is loaded."""
        return (str(self),)

    @classmethod
    def read(cls, value: Json) -> Self:
        """Read an id. Raises: ValueError: when it is blank, or neither text nor number."""
        name = id_text(value)
        if not name:
            raise ValueError("must be the id of a node")
        return cls(name)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(
            cls.read, serialization=core_schema.plain_serializer_function_ser_schema(str)
        )

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: Any) -> dict[str, Any]:
        return {"type": "string", "minLength": 1}


class NodeOutput(NodeId):
    """The id of a node whose output this node reads with `ctx.output`: naming it makes the chain keep it."""

    __slots__ = ()

    always_runs = False

    @property
    def node_references(self) -> frozenset[str]:
        """The ids of the nodes whose outputs are kept; what has this attribute makes a chain keep them."""
        return frozenset(self.named_nodes)


class NodeIds(tuple[str, ...]):
    """The ids of nodes that this node runs, in the order written: a list, or one text such as `"a, b"`.

    Blanks around an id do not count, and neither does a blank id.
    """

    __slots__ = ()

    always_runs: ClassVar[bool] = True

    @property
    def named_nodes(self) -> tuple[str, ...]:
        """The ids of the nodes it names."""
        return tuple(self)

    @classmethod
    def read(cls, value: Json) -> Self:
        """Read ids. Raises: ValueError: when they are neither a list of ids nor one text."""
        text = id_text(value)
        if text is not None:
            value = text.split(",")
        names = [id_text(one) for one in cast("list[Json]", value)] if isinstance(value, (list, tuple)) else [None]
        if None in names:
            raise ValueError("must be a list of node ids, or a text such as 'a,b'")
        return cls(name for name in names if name)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(
            cls.read, serialization=core_schema.plain_serializer_function_ser_schema(list)
        )

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: Any) -> dict[str, Any]:
        return {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}


def id_text(value: Json) -> str | None:
    """Give an id without the blanks around it; `None` when it is neither text nor number."""
    if isinstance(value, str):
        return value.strip()
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return str(value) if is_number else None
