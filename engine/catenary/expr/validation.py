"""How expressions and templates are read as fields of a component's settings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from pydantic_core import PydanticCustomError, core_schema

from catenary.errors import ExpressionError
from catenary.expr.environment import Environment

if TYPE_CHECKING:
    from collections.abc import Callable

    from pydantic_core import CoreSchema
    from pydantic_core.core_schema import ValidationInfo

    from catenary.jsontext import Json


def environment_of(info: ValidationInfo) -> Environment:
    """Give the environment of a validation; the default one when the context has none."""
    context = cast("dict[str, Any] | None", info.context)
    environment = (context or {}).get("environment")
    return environment if isinstance(environment, Environment) else Environment()


def validator_schema(cls: type[Any] | tuple[type[Any], ...], read: Callable[[Json, Environment], Any]) -> CoreSchema:
    """Make the schema of a type that is compiled from its text by `read` and written back as its `source`.

    What `read` raises becomes an error of the field; the `ExpressionError` itself is in its `ctx` under `error`.
    """

    def validate(value: Json, info: ValidationInfo) -> Any:
        if isinstance(value, cls):
            return value
        try:
            return read(value, environment_of(info))
        except ExpressionError as error:
            context = {"reason": str(error), "error": error}
            raise PydanticCustomError("expression", "{reason}", context) from error

    def source_of(value: Any) -> Json:
        return value.source

    return core_schema.with_info_plain_validator_function(
        validate, serialization=core_schema.plain_serializer_function_ser_schema(source_of)
    )


def text_schema(form: str) -> dict[str, Any]:
    """Give the JSON Schema of a text with a meaning of its own."""
    return {"type": "string", "format": form}
