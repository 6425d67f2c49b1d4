"""What catenary raises, as one table: an error is looked for by its name. Families of components add their own.

```
CatenaryError(code, hint)
  ChainError(file, line, column)      a chain cannot be loaded
    ChainSyntaxError                  the text is no JSON or YAML
    ChainInvalid(problems)            all problems of a chain, not the first
  ConfigError(node_id, node_type, field)
  ExpressionError(source, position)   an expression, template or script is wrong, or failed on a message
    TemplateError                     a part of a `${...}` text failed
    ScriptError                       a script threw, ran too long or took too much memory
  RunError(run_id)
    NodeError(node_id, node_type, relation, cause)
    RunTimeout, RunCancelled
    StepLimitReached, DepthLimitReached
  ResourceError(retryable)            the outside world: ConnectFailed, TooSlow
    Refused                           a key or an address is not allowed
      AnswererRefused                 somebody answers who may not
  EngineError                         the engine was asked for something it cannot do (unknown chain, closed ...)
    PauseError                        there is no such question to answer
      AnswerInvalid                   the answer does not fit the question
    SecretError                       a secret of a chain cannot be encrypted or decrypted
  StoreError                          a file of records cannot be used, or does not have what was asked for
```
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from catenary.text_places import excerpt, place

Severity = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with a chain.

    `line` and `column` count from 1; 0 means that the place is not known (a chain given as a `dict`).
    """

    code: str
    text: str
    hint: str = ""
    file: str = ""
    line: int = 0
    column: int = 0
    severity: Severity = "error"

    def __str__(self) -> str:
        place = f"{self.file or '<chain>'}:{self.line}:{self.column}" if self.line else (self.file or "<chain>")
        return f"{place}: {self.code}: {self.text}"


class CatenaryError(Exception):
    """Base of all errors of catenary.

    `code` is a stable name such as `chain.invalid`; `hint` says what to do about it, and ends the stack trace.

    Usual cause: See the classes below it, which say more exactly what went wrong.

    Cure: Do what the hint says.
    """

    code: ClassVar[str] = "catenary"

    def __init__(self, text: str, *, hint: str = "") -> None:
        super().__init__(text)
        self.hint = hint
        if hint:
            self.add_note(f"hint: {hint}")


class ChainError(CatenaryError):
    """A chain cannot be loaded. The attributes say where: `file`, `line` and `column` (both from 1, 0 if unknown).

    Usual cause: The file cannot be read, or another chain has the id.

    Cure: Do what the text and the hint say.
    """

    code = "chain.error"

    def __init__(self, text: str, *, file: str = "", line: int = 0, column: int = 0, hint: str = "") -> None:
        super().__init__(text, hint=hint)
        self.file = file
        self.line = line
        self.column = column


class ChainSyntaxError(ChainError):
    """The text of a chain is neither valid JSON nor valid YAML.

    Usual cause: A comma, quote or bracket is missing or too many, or the indentation of YAML is uneven.

    Cure: Look at the named line and column.
    """

    code = "chain.syntax"


class ChainInvalid(ChainError):
    """A chain was read, but has errors; `problems` lists all of them, warnings included, in order of place.

    Usual cause: A node, a connection or an option is wrong; each problem has a code with a page of its own.

    Cure: Run `catenary check FILE`: it prints all problems, each with its place and what to do.
    """

    code = "chain.invalid"

    def __init__(self, problems: list[Problem], *, file: str = "") -> None:
        self.problems = problems
        first = next((p for p in problems if p.severity == "error"), None)
        super().__init__(
            "\n".join(str(problem) for problem in problems),
            file=file,
            line=first.line if first else 0,
            column=first.column if first else 0,
            hint=first.hint if first else "",
        )


class ConfigError(CatenaryError):
    """The settings of a node are wrong; the attributes name the node, its type and the field.

    Usual cause: An option has a value of another kind or out of range, or a required option is missing.

    Cure: Correct the named field; the page of the component lists its options.
    """

    code = "config.invalid"

    def __init__(self, text: str, *, node_id: str = "", node_type: str = "", field: str = "", hint: str = "") -> None:
        super().__init__(text, hint=hint)
        self.node_id = node_id
        self.node_type = node_type
        self.field = field


class ExpressionError(CatenaryError):
    """An expression cannot be compiled, or failed on a message.

    `source` is the whole text, `position` the offset in characters at which the trouble is (-1: unknown).

    Usual cause: An operator or a bracket is missing, or the message lacks a value that is compared or counted
    with.

    Cure: Look at the named position; for values that may be absent write `msg.t ?? 0` or `msg.a?.b`.
    """

    code = "expression.error"

    def __init__(self, text: str, *, source: str = "", position: int = -1, hint: str = "") -> None:
        super().__init__(text, hint=hint)
        self.source = source
        self.position = position

    @property
    def line(self) -> int:
        """The line of the place, from 1; 0 when the place is not known."""
        return self._place()[0]

    @property
    def column(self) -> int:
        """The column of the place, from 1; 0 when the place is not known."""
        return self._place()[1]

    @property
    def excerpt(self) -> str:
        """The line of the place with a caret below it; empty when the place is not known."""
        return excerpt(self.source, self.position) if self.position >= 0 else ""

    def _place(self) -> tuple[int, int]:
        return place(self.source, self.position) if self.position >= 0 else (0, 0)


class TemplateError(ExpressionError):
    """A `${...}` part of a template failed on a message.

    `node_id` is the node for which it was rendered; empty for a template outside chains.

    Usual cause: The expression in it names something that the message does not have, and works with it.

    Cure: Correct the expression, or set `templates: lenient`, which renders the part as empty text.
    """

    code = "template.error"

    def __init__(self, text: str, *, source: str = "", position: int = -1, hint: str = "", node_id: str = "") -> None:
        super().__init__(text, source=source, position=position, hint=hint)
        self.node_id = node_id


class ScriptError(ExpressionError):
    """A script cannot be compiled, threw, ran out of time or out of memory.

    Usual cause: The script reads data that is no JSON, names a variable that is not there, or loops for ever.

    Cure: Look at the named line of the script; connect `Failure` for messages that it cannot deal with.
    """

    code = "script.error"


class RunError(CatenaryError):
    """A run went wrong; `run_id` names it.

    Usual cause: See the classes below it, which say more exactly what went wrong.

    Cure: Do what the text says.
    """

    code = "run.error"

    def __init__(self, text: str, *, run_id: str = "", hint: str = "") -> None:
        super().__init__(text, hint=hint)
        self.run_id = run_id


class NodeError(RunError):
    """A branch ended as `Failure`: the node, its type, the relation, and the `cause` when something was raised.

    Usual cause: A node failed and its `Failure` is not connected.

    Cure: Look at the text and at `cause`; connect `Failure` to a node that deals with it.
    """

    code = "run.node-failed"

    def __init__(
        self,
        text: str,
        *,
        run_id: str = "",
        node_id: str = "",
        node_type: str = "",
        relation: str = "Failure",
        cause: BaseException | None = None,
        hint: str = "",
    ) -> None:
        super().__init__(text, run_id=run_id, hint=hint)
        self.node_id = node_id
        self.node_type = node_type
        self.relation = relation
        self.cause = cause


class RunTimeout(RunError):
    """The run, or a node with a `timeout`, took longer than it was allowed to.

    Usual cause: A service answers slowly or not at all, or the time is too short.

    Cure: Allow more time, or give the slow node a `timeout` of its own and connect its `Failure`.
    """

    code = "run.timeout"


class RunCancelled(RunError):
    """The run was cancelled before it was over.

    Usual cause: The program or the person at the terminal stopped it, or the event loop was closed.

    Cure: None is needed; what was going on has been cleaned up.
    """

    code = "run.cancelled"


class StepLimitReached(RunError):
    """A node on a cycle was visited more often than `maxVisits` allows; the text names the cycle.

    Usual cause: The condition that should end the loop never holds.

    Cure: Correct the condition, or raise `maxVisits` in `ruleChain.configuration`.
    """

    code = "run.step-limit"


class DepthLimitReached(RunError):
    """Sub-runs and emissions were nested deeper than `maxDepth` allows.

    Usual cause: Chains call each other in a circle.

    Cure: Break the circle, or raise `maxDepth` in `ruleChain.configuration`.
    """

    code = "run.depth-limit"


class ResourceError(CatenaryError):
    """The outside world refused or failed; `retryable` tells retry policies whether another try may help.

    Usual cause: See the classes below it, which say more exactly what went wrong.

    Cure: Do what the text says.
    """

    code = "resource.error"

    def __init__(self, text: str, *, retryable: bool = False, hint: str = "") -> None:
        super().__init__(text, hint=hint)
        self.retryable = retryable


class ConnectFailed(ResourceError):
    """No connection: refused, no such host, bad certificate, broken off.

    Usual cause: The service is not running, or its address or certificate is wrong.

    Cure: Look at the address; start the service; give `retry` to the node when it comes and goes.
    """

    code = "resource.connect-failed"


class TooSlow(ResourceError):
    """The other side did not answer in time.

    Usual cause: The service is overloaded, or the time is too short for what it is asked.

    Cure: Allow more time at the node, or ask for less.
    """

    code = "resource.too-slow"


class Refused(ResourceError):
    """The other side, or a limit of ours, said no.

    Usual cause: A key is wrong, or an address is not among those that the engine may call.

    Cure: Correct the key, or allow the address where the engine is made.
    """

    code = "resource.refused"


class AnswererRefused(Refused):
    """Somebody answers a question who is not among those who may.

    Usual cause: No name was given, or another one than the `answerers` of the `wait` node.

    Cure: Answer as one of those that the text names.
    """

    code = "pause.refused"


class EngineError(CatenaryError):
    """The engine was asked for something it cannot do: an unknown chain, a closed engine, a wrong argument.

    Usual cause: An id is misspelt, or the engine was closed too early.

    Cure: Look at the hint, which lists what there is.
    """

    code = "engine.error"


class PauseError(EngineError):
    """There is no such pause to answer: no node of the run waits, several do, or it is over.

    Usual cause: The run id or the node is misspelt, somebody else was quicker, or the time is over.

    Cure: Look at what is open (`engine.pauses`); the text says what became of this one.
    """

    code = "pause.error"


class AnswerInvalid(PauseError):
    """An answer does not fit the question: its relation, its data, or what it may change. The question stays open.

    Usual cause: The data does not fit the schema of the `wait` node, or the relation is none of its `relations`.

    Cure: Correct what the text names, and answer again.
    """

    code = "pause.invalid-answer"


class SecretError(EngineError):
    """A secret of a chain cannot be encrypted or decrypted.

    Usual cause: Another key is set than the one it was encrypted with, or none, or the extra `secrets` is missing.

    Cure: Set the key it was encrypted with, or encrypt it again with `catenary secret encrypt`.
    """

    code = "secret.error"


class StoreError(CatenaryError):
    """A file of records cannot be read or written, or does not have what was asked for.

    Usual cause: The path is wrong, the disk is full, another process is writing for long, or a run id is misspelt.

    Cure: Look at the path in the text; `catenary runs` lists the runs that are recorded.
    """

    code = "store.error"
