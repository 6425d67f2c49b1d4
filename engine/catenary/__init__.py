"""catenary: a rule-chain flow engine. Messages travel chains of nodes; AI agents are nodes.

Everything named in `__all__` may be imported from here. Names are looked up when they are first used, so that
`import catenary` costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from catenary.lazy_names import lazy_getattr

if TYPE_CHECKING:
    from catenary.aspects import Aspect, Objection
    from catenary.chain import Chain
    from catenary.component import Arrival, Component, Config, Context, Emission, Example, option, register
    from catenary.defaults import ChainDefaults
    from catenary.endpoints import Answer, Endpoint, Exchange, Processor, Router, Target
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
    "aspects": "Aspect Objection",
    "chain": "Chain",
    "component": "Arrival Component Config Context Emission Example option register",
    "defaults": "ChainDefaults",
    "endpoints": "Answer Endpoint Exchange Processor Router Target",
    "engine": "Engine",
    "errors": (
        "CatenaryError ChainError ChainInvalid ChainSyntaxError ConfigError ConnectFailed DepthLimitReached "
        "EngineError ExpressionError NodeError Problem Refused ResourceError RunCancelled RunError RunTimeout "
        "ScriptError StepLimitReached TemplateError TooSlow"
    ),
    "expr": "Expression Script Template",
    "message": "BINARY JSON TEXT Message",
    "options": "Restart RunInfo RunOptions",
    "outcome": "End Outcome",
    "relation": (
        "AWAIT_CONFIRM AWAIT_EXTERNAL DEFAULT FAILURE FALSE LATE STREAM SUCCESS TRUE EndHere NodeFailure OrElse "
        "Relation fail"
    ),
    "runtime.again": "Again",
}

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
    "Answer",
    "Endpoint",
    "Exchange",
    "Processor",
    "Router",
    "Target",
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

__getattr__ = lazy_getattr(__name__, {name: home for home, names in _HOMES.items() for name in names.split()})


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
