"""Everything catenary raises.

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
  ResourceError(retryable)            the outside world: ConnectFailed, TooSlow, Refused
  EngineError                         the engine was asked for something it cannot do (unknown chain, closed ...)
```
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

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

    `code` is a stable name such as `chain.invalid`; `hint` says what to do about it.
    """

    code: ClassVar[str] = "catenary"

    def __init__(self, text: str, *, hint: str = "") -> None:
        super().__init__(text)
        self.hint = hint


class ChainError(CatenaryError):
    """A chain cannot be loaded. The attributes say where: `file`, `line` and `column` (both from 1, 0 if unknown)."""

    code = "chain.error"

    def __init__(self, text: str, *, file: str = "", line: int = 0, column: int = 0, hint: str = "") -> None:
        super().__init__(text, hint=hint)
        self.file = file
        self.line = line
        self.column = column


class ChainSyntaxError(ChainError):
    """The text of a chain is neither valid JSON nor valid YAML."""

    code = "chain.syntax"


class ChainInvalid(ChainError):
    """A chain was read, but has errors; `problems` lists all of them, warnings included, in order of place."""

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
    """The settings of a node are wrong; the attributes name the node, its type and the field."""

    code = "config.invalid"

    def __init__(self, text: str, *, node_id: str = "", node_type: str = "", field: str = "", hint: str = "") -> None:
        super().__init__(text, hint=hint)
        self.node_id = node_id
        self.node_type = node_type
        self.field = field


class ExpressionError(CatenaryError):
    """An expression cannot be compiled, or failed on a message.

    `source` is the whole text, `position` the offset in characters at which the trouble is (-1: unknown).
    """

    code = "expression.error"

    def __init__(self, text: str, *, source: str = "", position: int = -1, hint: str = "") -> None:
        super().__init__(text, hint=hint)
        self.source = source
        self.position = position


class TemplateError(ExpressionError):
    """A `${...}` part of a template failed on a message."""

    code = "template.error"


class ScriptError(ExpressionError):
    """A script cannot be compiled, threw, ran out of time or out of memory."""

    code = "script.error"


class RunError(CatenaryError):
    """A run went wrong; `run_id` names it."""

    code = "run.error"

    def __init__(self, text: str, *, run_id: str = "", hint: str = "") -> None:
        super().__init__(text, hint=hint)
        self.run_id = run_id


class NodeError(RunError):
    """A branch ended as `Failure`: the node, its type, the relation, and the `cause` when something was raised."""

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
    ) -> None:
        super().__init__(text, run_id=run_id)
        self.node_id = node_id
        self.node_type = node_type
        self.relation = relation
        self.cause = cause


class RunTimeout(RunError):
    """The run, or a node with a `timeout`, took longer than it was allowed to."""

    code = "run.timeout"


class RunCancelled(RunError):
    """The run was cancelled before it was over."""

    code = "run.cancelled"


class StepLimitReached(RunError):
    """A node on a cycle was visited more often than `maxVisits` allows; the text names the cycle."""

    code = "run.step-limit"


class DepthLimitReached(RunError):
    """Sub-runs and emissions were nested deeper than `maxDepth` allows."""

    code = "run.depth-limit"


class ResourceError(CatenaryError):
    """The outside world refused or failed; `retryable` tells retry policies whether another try may help."""

    code = "resource.error"

    def __init__(self, text: str, *, retryable: bool = False, hint: str = "") -> None:
        super().__init__(text, hint=hint)
        self.retryable = retryable


class ConnectFailed(ResourceError):
    """No connection: refused, no such host, bad certificate, broken off."""

    code = "resource.connect-failed"


class TooSlow(ResourceError):
    """The other side did not answer in time."""

    code = "resource.too-slow"


class Refused(ResourceError):
    """The other side, or a limit of ours, said no."""

    code = "resource.refused"


class EngineError(CatenaryError):
    """The engine was asked for something it cannot do: an unknown chain, a closed engine, a wrong argument."""

    code = "engine.error"
