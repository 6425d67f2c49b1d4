"""Tests of chains, in files beside them: `NAME.test.yaml`. Run by `catenary test` and by the pytest plugin."""

from __future__ import annotations

from catenary.life.chainfiles import TEST_SUFFIXES
from catenary.testing.chains.coverage import Coverage
from catenary.testing.chains.model import suite_schema
from catenary.testing.chains.reading import PlacedCase, SuiteFile, find_suites, read_suite
from catenary.testing.chains.running import CaseResult, run_case, skipped

__all__ = [
    "TEST_SUFFIXES",
    "CaseResult",
    "Coverage",
    "PlacedCase",
    "SuiteFile",
    "find_suites",
    "read_suite",
    "run_case",
    "skipped",
    "suite_schema",
]
