"""What an error says, of whatever kind it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from collections.abc import Sequence


def reason_of(error: BaseException) -> str:
    """Give the text of an error; the name of its class when it has none, or fails at giving it.

    That of a `KeyError` is no more than the key, so its class is said before it.
    Of a group of errors, as groups of tasks raise them, it is what each of them says.
    """
    try:
        if (errors := _in_group(error)) is not None:
            return f"{error.args[0]}: {'; '.join(map(reason_of, errors))}"
        text = str(error)
        if type(error) is KeyError and error.args:
            return f"KeyError: {text}"
        return text or type(error).__name__
    except Exception:  # the errors of others may have any `__str__`
        return type(error).__name__


def _in_group(error: BaseException) -> Sequence[BaseException] | None:
    return cast("Any", error).exceptions if isinstance(error, BaseExceptionGroup) else None
