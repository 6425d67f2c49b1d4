"""Functions on fingerprints of texts: one by itself, and signatures, by which a sender shows that it has a key."""

from __future__ import annotations

import base64
import hashlib
import hmac
from typing import TYPE_CHECKING, Final

from catenary.expr.functions.function import Function, adder
from catenary.expr.kinds import EvaluationError, kind_of

if TYPE_CHECKING:
    from catenary.jsontext import Json

TABLE: Final[dict[str, Function]] = {}
function = adder(TABLE, "Fingerprints and signatures")

_PREFIX: Final = "sha256="


@function(
    "sha256",
    1,
    takes="string|bytes",
    examples=(("sha256('a')[:16]", "ca978112ca1bbdca"), ("len(sha256(''))", 64)),
)
def sha256(value: Json) -> str:
    """Give the SHA-256 of a string, as hex digits."""
    return hashlib.sha256(_bytes("sha256", value)).hexdigest()


@function(
    "hmacSha256",
    2,
    takes="string|bytes string",
    examples=(("hmacSha256('a', 'key')[:16]", "780c3db4ce3de5b9"),),
)
def hmac_sha256(value: Json, key: Json) -> str:
    """Sign a string with a key: its HMAC-SHA-256, as hex digits."""
    return _signature("hmacSha256", value, key).hex()


@function(
    "isSigned",
    3,
    takes="string|bytes string|nil string",
    examples=(
        ("isSigned('a', 'sha256=' + hmacSha256('a', 'key'), 'key')", True),
        ("isSigned('b', hmacSha256('a', 'key'), 'key')", False),
        ("isSigned('a', '', 'key')", False),
    ),
)
def is_signed(value: Json, signature: Json, key: Json) -> bool:
    """Tell whether a signature is the HMAC-SHA-256 of a string: hex digits, also behind `sha256=`, or Base64.

    It takes the same time however much of the signature is right.
    """
    made = _signature("isSigned", value, key)
    if not isinstance(signature, str):
        return False
    given = signature.strip().removeprefix(_PREFIX).encode("utf-8", "surrogatepass")
    is_hex = hmac.compare_digest(given.lower(), made.hex().encode())
    return hmac.compare_digest(given, base64.b64encode(made)) or is_hex


def _signature(name: str, value: Json, key: Json) -> bytes:
    if not isinstance(key, str) or not key:
        raise EvaluationError(f"{name}(): the key is {kind_of(key) if key != '' else 'empty'}: anybody could sign so")
    return hmac.digest(key.encode("utf-8", "surrogatepass"), _bytes(name, value), "sha256")


def _bytes(name: str, value: Json) -> bytes:
    if isinstance(value, bytes):
        return value
    if not isinstance(value, str):
        raise EvaluationError(f"{name}() takes a string, not {kind_of(value)}; a body as it came is `data`")
    return value.encode("utf-8", "surrogatepass")
