"""What came of chain tests, for people and for programs: JUnit and JSON."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

if TYPE_CHECKING:
    from collections.abc import Sequence

    from catenary.jsontext import Json
    from catenary.testing.chains.coverage import Coverage
    from catenary.testing.chains.running import CaseResult

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def counts(results: Sequence[CaseResult]) -> dict[str, int]:
    """Give how many cases passed, failed and were left out."""
    found = {"passed": 0, "failed": 0, "skipped": 0}
    for one in results:
        found[one.result] += 1
    return found


def as_json(results: Sequence[CaseResult], coverage: Coverage) -> dict[str, Json]:
    """Give the whole report as JSON."""
    return {
        **counts(results),
        "cases": [
            {
                "file": str(one.file),
                "line": one.line,
                "name": one.name,
                "result": one.result,
                "problems": one.problems,
                "reason": one.reason,
                "path": one.path,
                "durationS": round(one.duration_s, 6),
            }
            for one in results
        ],
        "coverage": {
            "percent": round(coverage.percent, 1),
            "chains": [chain.to_dict() for chain in coverage.chains()],
        },
    }


def as_junit(results: Sequence[CaseResult]) -> str:
    """Give the report in the XML that build servers read: a suite for each file."""
    root = ET.Element("testsuites", _totals(results, "catenary test"))
    for file in dict.fromkeys(one.file for one in results):
        own = [one for one in results if one.file == file]
        suite = ET.SubElement(root, "testsuite", _totals(own, str(file)))
        for one in own:
            suite.append(_case(one))
    ET.indent(root)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _totals(results: Sequence[CaseResult], name: str) -> dict[str, str]:
    number = counts(results)
    return {
        "name": _clean(name),
        "tests": str(len(results)),
        "failures": str(number["failed"]),
        "errors": "0",
        "skipped": str(number["skipped"]),
        "time": f"{sum(one.duration_s for one in results):.3f}",
    }


def _case(one: CaseResult) -> ET.Element:
    case = ET.Element(
        "testcase",
        {
            "classname": _clean(str(one.file)),
            "name": _clean(one.name),
            "file": _clean(str(one.file)),
            "line": str(one.line),
            "time": f"{one.duration_s:.3f}",
        },
    )
    if one.result == "skipped":
        ET.SubElement(case, "skipped", {"message": _clean(one.reason)})
    elif one.result == "failed":
        failure = ET.SubElement(case, "failure", {"message": _clean(one.problems[0])})
        failure.text = _clean(one.text())
    return case


def _clean(text: str) -> str:
    """Leave out what no XML document can hold."""
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)
