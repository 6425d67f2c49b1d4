"""Files of chain tests in a folder, and their cases run."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from catenary.testing.chains import CaseResult, read_suite, run_case

if TYPE_CHECKING:
    from pathlib import Path

CHAIN = """\
ruleChain:
  id: meter
  configuration: {vars: {limit: 40}}
metadata:
  nodes:
    - {id: hot, type: exprFilter, configuration: {expr: msg.t > vars.limit}}
    - {id: send, type: restApiCall, configuration: {url: "http://127.0.0.1:9/x", body: "${msg}"}}
    - {id: shape, type: exprTransform, configuration: {mapping: {t: msg.t, where: global.site}}}
    - {id: done, type: end}
  connections:
    - {fromId: hot, type: "True", toId: send}
    - {fromId: hot, type: "False", toId: shape}
    - {fromId: send, type: Success, toId: shape}
    - {fromId: shape, type: Success, toId: done}
"""


def put(folder: Path, tests: str, chain: str = CHAIN, name: str = "meter") -> Path:
    """Write a chain and its tests. Returns: the file of the tests."""
    (folder / f"{name}.yaml").write_text(chain)
    path = folder / f"{name}.test.yaml"
    path.write_text(tests)
    return path


def results(path: Path) -> list[CaseResult]:
    """Run all cases of a file."""
    suite = read_suite(path)
    return [asyncio.run(run_case(suite, placed)) for placed in suite.cases]


def problems(folder: Path, case: str, **more: Any) -> list[str]:
    """Give the problems of one case, written as the inside of it; the node `send` has a mock."""
    lines = "".join(f"    {line}\n" for line in case.splitlines())
    text = f"properties: {{site: north}}\nmocks: {{send: {{}}}}\ncases:\n  - name: one\n{lines}"
    (result,) = results(put(folder, text, **more))
    return result.problems
