"""The secrets of chains: encrypted texts in `ruleChain.configuration.secrets`, and the key that opens them.

A secret is written in hexadecimal digits: 16 bytes that begin the chain of blocks, then the text in AES-256-CBC with
PKCS#7 padding. The key is a text, cut to 32 bytes or filled up with the digit `0`.
"""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from catenary.errors import SecretError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from catenary.jsontext import Json

    Names = tuple[str, ...]

KEY_VARIABLE: Final = "CATENARY_SECRET_KEY"
"""The environment variable that has the key."""

KEY_FILE_VARIABLE: Final = "CATENARY_SECRET_KEY_FILE"
"""The environment variable that names the file which has the key."""

_OTHER_KEY: Final = "cannot be decrypted with the key that is set"
_KEY_BYTES: Final = 32
_BLOCK: Final = 16


def find_key(given: str | Path | None = None, environment: Mapping[str, str] | None = None) -> str | None:
    """Give the key: what is given, else the environment variable, else what the file has that another one names.

    Args:
        given: A key; or the path of a file that has one, whose last line break does not count.
        environment: Stands in for that of the process.

    Returns:
        The key, `None` when nothing is set.

    Raises:
        SecretError: When the file cannot be read.
    """
    if isinstance(given, str):
        return given
    variables = os.environ if environment is None else environment
    if given is None and KEY_VARIABLE in variables:
        return variables[KEY_VARIABLE]
    path = given or variables.get(KEY_FILE_VARIABLE)
    if not path:
        return None
    try:
        return Path(path).read_text(encoding="utf-8").rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text in UTF-8"
        raise SecretError(
            f"the file of the secret key cannot be read: {path}: {reason}",
            hint=f"correct {KEY_FILE_VARIABLE}, or put the key into {KEY_VARIABLE}",
        ) from None


def encrypt(text: str, key: str) -> str:
    """Encrypt a text; each call gives another result. Raises: SecretError: when the extra `secrets` is missing."""
    return encrypt_with(text, key, secrets.token_bytes(_BLOCK))


def encrypt_with(text: str, key: str, start: bytes) -> str:
    """Encrypt a text with given bytes in front, which must not be used twice. Raises: SecretError: as `encrypt`."""
    plain = text.encode()
    filling = _BLOCK - len(plain) % _BLOCK
    encryptor = _cipher(key, start).encryptor()
    sealed: bytes = encryptor.update(plain + bytes([filling]) * filling) + encryptor.finalize()
    return (start + sealed).hex()


def decrypt(sealed: str, key: str) -> str:
    """Decrypt what `encrypt` gave.

    Raises:
        SecretError: When it is no encrypted text, the key is another one, or the extra `secrets` is missing.
    """
    if not is_sealed(sealed):
        raise SecretError("the text is not encrypted", hint="an encrypted text is 64 or more hexadecimal digits")
    plain = _plain(sealed, key)
    if plain is None:
        raise SecretError(f"the text {_OTHER_KEY}", hint="set the key it was encrypted with")
    return plain


def opened(secrets: Mapping[str, Json], key: str | None) -> dict[str, Json]:
    """Give the secrets of a chain decrypted; what cannot be decrypted stays as it is.

    Args:
        secrets: As written: texts by name, or further such mappings.
        key: The key; `None` decrypts nothing.

    Raises:
        SecretError: When the extra `secrets` is missing.
    """
    return {name: _opened(sealed, key)[0] for name, sealed in secrets.items()}


def doubts(secrets: Mapping[str, Json], key: str | None, path: Names = ()) -> Iterator[tuple[Names, str]]:
    """Give what cannot be decrypted: the names that lead to it, and why. Raises: SecretError: as `opened`."""
    for name, sealed in secrets.items():
        if isinstance(sealed, dict):
            yield from doubts(cast("dict[str, Json]", sealed), key, (*path, name))
        elif problem := _opened(sealed, key)[1]:
            yield (*path, name), problem


def _opened(sealed: Json, key: str | None) -> tuple[Json, str]:
    """Give a secret and an empty text; or what was given, as it is, and why it cannot be decrypted."""
    if isinstance(sealed, dict):
        return opened(cast("dict[str, Json]", sealed), key), ""
    if not isinstance(sealed, str) or not is_sealed(sealed):
        return sealed, "is not encrypted"
    if key is None:
        return sealed, "cannot be decrypted: no key is set"
    plain = _plain(sealed, key)
    return (sealed, _OTHER_KEY) if plain is None else (plain, "")


def is_sealed(text: str) -> bool:
    """Tell whether a text has the form of an encrypted one."""
    digits = text.strip()
    if len(digits) < 4 * _BLOCK or len(digits) % (2 * _BLOCK):
        return False
    return not digits.lower().strip("0123456789abcdef")


def _plain(sealed: str, key: str) -> str | None:
    blocks = bytes.fromhex(sealed.strip())
    decryptor = _cipher(key, blocks[:_BLOCK]).decryptor()
    padded: bytes = decryptor.update(blocks[_BLOCK:]) + decryptor.finalize()
    filling = padded[-1]
    if not 1 <= filling <= _BLOCK or padded[-filling:] != bytes([filling]) * filling:
        return None
    try:
        return padded[:-filling].decode()
    except UnicodeDecodeError:
        return None


def key_bytes(key: str) -> bytes:
    """Give the 32 bytes that a key stands for."""
    return key.encode()[:_KEY_BYTES].ljust(_KEY_BYTES, b"0")


def _cipher(key: str, start: bytes) -> Any:
    try:
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
    except ImportError:
        raise SecretError(
            "encrypted secrets need the package cryptography", hint="run: pip install 'catenary[secrets]'"
        ) from None
    return Cipher(algorithms.AES(key_bytes(key)), modes.CBC(start))
