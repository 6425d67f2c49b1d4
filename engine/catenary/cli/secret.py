"""`secret`: encrypt values for the secrets of a chain, and decrypt them."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Callable


def _key_option(command: Callable[..., Any]) -> Callable[..., Any]:
    return click.option(
        "--key-file",
        metavar="FILE",
        type=click.Path(exists=True, dir_okay=False),
        help="The file that has the key; else CATENARY_SECRET_KEY or CATENARY_SECRET_KEY_FILE says.",
    )(command)


@click.group(short_help="Encrypt and decrypt the secrets of chains.")
def secret() -> None:
    """Encrypt values for `ruleChain.configuration.secrets`, which a chain reads as ${secrets.NAME}.

    The value is asked for, or read from the standard input; it is no argument, where others could see it. The key
    comes from a file or the environment, never from an argument either.

    \b
    Examples:
      export CATENARY_SECRET_KEY="$(head -c 24 /dev/urandom | base64)"
      catenary secret encrypt
      printf %s "$TOKEN" | catenary secret encrypt
      catenary secret decrypt < sealed.txt
    """


@secret.command(short_help="Encrypt a value.")
@_key_option
def encrypt(key_file: str | None) -> None:
    """Encrypt a value for a chain. A line break at its end does not count.

    \b
    Examples:
      catenary secret encrypt
      printf %s "$TOKEN" | catenary secret encrypt --key-file /run/secrets/catenary
    """
    from catenary.secrets import encrypt as sealed

    key = _key(key_file)
    click.echo(sealed(_value("Value", confirm=True), key))


@secret.command(short_help="Decrypt a value.")
@_key_option
def decrypt(key_file: str | None) -> None:
    """Decrypt a value of a chain, and print it.

    \b
    Examples:
      catenary secret decrypt < sealed.txt
    """
    from catenary.secrets import decrypt as opened

    key = _key(key_file)
    click.echo(opened(_value("Encrypted value", confirm=False), key))


def _key(key_file: str | None) -> str:
    """Give the key. Raises: click.UsageError: when none is set, or it is empty."""
    from pathlib import Path

    from catenary.secrets import find_key

    key = find_key(Path(key_file) if key_file else None)
    if not key:
        raise click.UsageError(
            "no key is set: put it into CATENARY_SECRET_KEY, or into a file that CATENARY_SECRET_KEY_FILE or "
            "--key-file names"
        )
    return key


def _value(prompt: str, *, confirm: bool) -> str:
    """Give what is typed at a prompt that shows nothing, or what is piped in. Raises: click.UsageError: if empty."""
    if sys.stdin.isatty():
        value: str = click.prompt(prompt, hide_input=confirm, confirmation_prompt=confirm, err=True)
    else:
        value = sys.stdin.read().removesuffix("\n").removesuffix("\r")
    if not value:
        raise click.UsageError("there is no value: type it, or pipe it in")
    return value
