"""Loading: from text to a definition (`read`), and from a definition to components (`build`) or problems (`check`)."""

from __future__ import annotations

from catenary.load.build import assemble, build, check
from catenary.load.codes import CODES, Code
from catenary.load.decode import FieldProblem, decode
from catenary.load.document import Document, read
from catenary.load.settings import ChainSettings, Settings, chain_settings, environment_of

__all__ = [
    "CODES",
    "ChainSettings",
    "Code",
    "Document",
    "FieldProblem",
    "Settings",
    "assemble",
    "build",
    "chain_settings",
    "check",
    "decode",
    "environment_of",
    "read",
]
