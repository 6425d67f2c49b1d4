"""The key of a model service: a secret that shows itself to nobody but the client."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic_core import core_schema

from catenary.masking import NO_SECRETS, SHORTEST

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler
    from pydantic_core import CoreSchema


class ApiKey:
    """A secret text; white space around it is dropped.

    Printed, formatted or written as JSON it is masked: the first 4 and the last 4 characters with `****` between, and
    nothing but `****` when it has 8 characters or fewer.
    """

    __slots__ = ("_secret",)

    def __init__(self, secret: str = "") -> None:
        self._secret = secret.strip()

    def reveal(self) -> str:
        """Give the secret itself, for the request to the service and nothing else."""
        return self._secret

    def hide_in(self, text: str) -> str:
        """Give a text with the secret masked wherever it stands in it.

        One so short that it is in words is none, and neither is what stands where no key is needed, such as `ollama`.
        """
        is_secret = len(self._secret) >= SHORTEST and self._secret.lower() not in NO_SECRETS
        return text.replace(self._secret, str(self)) if is_secret else text

    def __bool__(self) -> bool:
        return bool(self._secret)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ApiKey) and other._secret == self._secret

    def __hash__(self) -> int:
        return hash(self._secret)

    def __str__(self) -> str:
        if not self._secret:
            return ""
        return "****" if len(self._secret) <= 8 else f"{self._secret[:4]}****{self._secret[-4:]}"

    def __repr__(self) -> str:
        return f"ApiKey({str(self)!r})"

    @classmethod
    def __get_pydantic_core_schema__(cls, source: type[Any], handler: GetCoreSchemaHandler) -> CoreSchema:
        """Read it from a text; it is written masked."""
        read = core_schema.no_info_after_validator_function(cls, core_schema.str_schema(coerce_numbers_to_str=True))
        return core_schema.json_or_python_schema(
            json_schema=read,
            python_schema=core_schema.union_schema([core_schema.is_instance_schema(cls), read]),
            serialization=core_schema.plain_serializer_function_ser_schema(str, return_schema=core_schema.str_schema()),
        )
