"""catenary: a rule-chain flow engine. Messages travel chains of nodes; AI agents are nodes.

Everything named in `__all__` may be imported from here. Names are looked up when they are first used, so that
`import catenary` costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from catenary.aspects import Aspect, Objection
    from catenary.chain import Chain
    from catenary.component import Arrival, Component, Config, Context, Emission, Example, option, register
    from catenary.defaults import ChainDefaults
    from catenary.engine import Engine
    from catenary.errors import (
        CatenaryError,
        ChainError,
        ChainInvalid,
        ChainSyntaxError,
        ConfigError,
        ConnectFailed,
        DepthLimitReached,
        EngineError,
        ExpressionError,
        NodeError,
        Problem,
        Refused,
        ResourceError,
        RunCancelled,
        RunError,
        RunTimeout,
        ScriptError,
        StepLimitReached,
        TemplateError,
        TooSlow,
    )
    from catenary.expr import Expression, Script, Template
    from catenary.message import BINARY, JSON, TEXT, Message
    from catenary.options import Restart, RunInfo, RunOptions
    from catenary.outcome import End, Outcome
    from catenary.relation import (
        AWAIT_CONFIRM,
        AWAIT_EXTERNAL,
        DEFAULT,
        FAILURE,
        FALSE,
        LATE,
        STREAM,
        SUCCESS,
        TRUE,
        EndHere,
        NodeFailure,
        OrElse,
        Relation,
        fail,
    )
    from catenary.runtime.again import Again

_HOMES = {
    "catenary.aspects": "Aspect Objection",
    "catenary.chain": "Chain",
    "catenary.component": "Arrival Component Config Context Emission Example option register",
    "catenary.defaults": "ChainDefaults",
    "catenary.engine": "Engine",
    "catenary.errors": (
        "CatenaryError ChainError ChainInvalid ChainSyntaxError ConfigError ConnectFailed DepthLimitReached "
        "EngineError ExpressionError NodeError Problem Refused ResourceError RunCancelled RunError RunTimeout "
        "ScriptError StepLimitReached TemplateError TooSlow"
    ),
    "catenary.expr": "Expression Script Template",
    "catenary.message": "BINARY JSON TEXT Message",
    "catenary.options": "Restart RunInfo RunOptions",
    "catenary.outcome": "End Outcome",
    "catenary.relation": (
        "AWAIT_CONFIRM AWAIT_EXTERNAL DEFAULT FAILURE FALSE LATE STREAM SUCCESS TRUE EndHere NodeFailure OrElse "
        "Relation fail"
    ),
    "catenary.runtime.again": "Again",
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names.split()}

__version__ = "0.1.0"
__all__ = [  # noqa: RUF022 - in the order of the imports above
    "Aspect",
    "Objection",
    "Chain",
    "Arrival",
    "Component",
    "Config",
    "Context",
    "Emission",
    "Example",
    "option",
    "register",
    "ChainDefaults",
    "Engine",
    "CatenaryError",
    "ChainError",
    "ChainInvalid",
    "ChainSyntaxError",
    "ConfigError",
    "ConnectFailed",
    "DepthLimitReached",
    "EngineError",
    "ExpressionError",
    "NodeError",
    "Problem",
    "Refused",
    "ResourceError",
    "RunCancelled",
    "RunError",
    "RunTimeout",
    "ScriptError",
    "StepLimitReached",
    "TemplateError",
    "TooSlow",
    "Expression",
    "Script",
    "Template",
    "BINARY",
    "JSON",
    "TEXT",
    "Message",
    "Restart",
    "RunInfo",
    "RunOptions",
    "End",
    "Outcome",
    "AWAIT_CONFIRM",
    "AWAIT_EXTERNAL",
    "DEFAULT",
    "FAILURE",
    "FALSE",
    "LATE",
    "STREAM",
    "SUCCESS",
    "TRUE",
    "EndHere",
    "NodeFailure",
    "OrElse",
    "Relation",
    "fail",
    "Again",
]


def __getattr__(name: str) -> Any:
    module = _HOME_OF.get(name)
    if module is None:
        raise AttributeError(f"module 'catenary' has no attribute {name!r}")
    import importlib

    value = getattr(importlib.import_module(module), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
