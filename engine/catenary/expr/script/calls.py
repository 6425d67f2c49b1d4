"""`SharedScript`: calling a script, the same for all engines."""

from __future__ import annotations

import re
from itertools import count
from typing import TYPE_CHECKING

from catenary.expr.script.errors import Stopped, deep_error, limit_error, syntax_error, thrown_error
from catenary.expr.script.host import names_of
from catenary.expr.script.pool import leave, place_of, settle
from catenary.expr.script.rounds import Rounds
from catenary.expr.script.values import (
    AS_JSON,
    AS_JSON_OR_TEXT,
    arguments_of,
    encodable,
    finished_result_of,
    json_arguments,
    parse,
    restore_integers,
    result_of,
)
from catenary.jsontext import dumps
from catenary.message import JSON

if TYPE_CHECKING:
    from catenary.errors import ScriptError
    from catenary.expr.script.engine import ScriptHost, ScriptLimits, ScriptSource
    from catenary.expr.script.pool import Platform, Shared
    from catenary.jsontext import Json
    from catenary.message import Message

_serials = count()
_METADATA = 1  # its place among the parameters
_REACHES_ANY_NAME = re.compile(r"arguments|eval|\\u")


class SharedScript:
    """A compiled script, in a machine of each thread that calls it.

    Attributes:
        platform: The engine.
        limits: What a call may use up.
        host: What the host lends.
        source: The script as written.
        setup: What a realm compiles, as JSON.
        names: What a realm is told about the host, as JSON.
        serial: A number of its own.
        json_kind: How it reads a payload of the data type `JSON`.
        is_slow: True when the last call took so long that the next one better begins with all the time it may have.
    """

    def __init__(self, platform: Platform, script: ScriptSource, limits: ScriptLimits, host: ScriptHost) -> None:
        self.platform = platform
        self.limits = limits
        self.host = host
        self.source = script.source
        self.names = names_of(host)
        self.serial = next(_serials)
        self.is_slow = False
        self.json_kind = AS_JSON_OR_TEXT if script.blank_is_text else AS_JSON
        self._errors = platform.errors
        self._reads_metadata = _may_read(script, script.parameters[_METADATA])
        self._read = result_of if not script.finish else finished_result_of
        self.setup = dumps(
            {
                "name": script.function,
                "parameters": ", ".join(script.parameters),
                "source": encodable(script.source),
                "names": encodable(dumps(dict(script.names))),
                "finish": script.finish,
            }
        )
        settle(self)

    def call(self, message: Message, ctx: object = None) -> Json:
        """Run the script on a message; see `CompiledScript.call`."""
        place = place_of(self.serial) or settle(self)
        if self.is_slow:
            answer = Rounds(self, place, message, ctx).run()
        else:
            try:
                if message.data_type == JSON:
                    answer = place.enter_json(*json_arguments(message, self._reads_metadata))
                else:
                    answer = place.enter(place.number, *arguments_of(message, self.json_kind), "")
            except self._errors as error:
                answer = Rounds(self, place, message, ctx).go_on(self.platform.stopped(error))
        if answer is True or answer is False:
            return answer
        if answer.__class__ is str and answer[0] in "?!":
            answer = Rounds(self, place, message, ctx).go_on(answer)
        if place.shared.calls_left is not None:
            self._count(place.shared)
        return self._value(answer, message)

    def _count(self, shared: Shared) -> None:
        shared.calls_left = (shared.calls_left or 0) - 1
        if shared.calls_left <= 0:
            leave(shared)

    def _value(self, answer: Json, message: Message) -> Json:
        if isinstance(answer, str):
            if answer.startswith("!"):
                raise self._told_error(answer[1:])
            try:
                return self._read(answer, message)
            except (ValueError, RecursionError):
                raise deep_error(self.source) from None
        if isinstance(answer, float) and answer.is_integer():
            answer = int(answer)
        if isinstance(answer, int) and abs(answer) >= 2**53:
            return restore_integers(answer, message)
        return answer

    def _told_error(self, told: str) -> ScriptError:
        text, stack = parse(told)
        return thrown_error(text, stack, self.source, self.platform.places)

    def stopped_error(self, stopped: Stopped) -> ScriptError:
        """Give the error for a script that ran into a limit; one that filled the memory loses its machine."""
        if stopped.reason == "memory":
            place = place_of(self.serial)
            if place is not None:
                leave(place.shared)
        return limit_error(stopped, self.limits, self.source)

    def refused_error(self, told: str) -> ScriptError:
        """Give the error for a source that does not compile."""
        text, stack = parse(told)
        return syntax_error(text, stack, self.source, self.platform.places)


def _may_read(script: ScriptSource, parameter: str) -> bool:
    """Tell whether a script can get hold of a parameter: only by its name, by `arguments` or by a direct `eval`.

    Names may be written with escapes. What the script makes of text by other ways does not see its parameters.
    """
    return parameter in script.source or _REACHES_ANY_NAME.search(script.source) is not None
