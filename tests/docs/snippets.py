"""Finds the snippets of a page and runs them, one after the other, in a folder of their own.

A page is a sequence: later snippets see the files and names of earlier ones. What is understood:

- `python`: executed. Where `print(...)` has a comment behind it, that is what it must print.
- `yaml`, `json`: a chain is checked and saved as `ID.yaml` or `ID.json`; other documents must parse.
- `sh`: each `catenary`, `python` and `curl` command is run. A comment behind it is its output, or `exit code N`.
- `<!-- serves: ADDRESS -->` before an `sh` snippet with one `catenary serve`: it runs to the end of the page, on a free
  port, and commands that name the address call it there.
- `<!-- file: NAME -->` before a snippet saves it under that name; Python is then run only when a command does it.
- `<!-- prints: COMMAND -->` before a snippet: it is what the command writes to stdout.
- A table with the head `Expression | Gives`, or `Template`, `Document`, `Script` or `Python` in place of the first:
  each row is evaluated. `Gives` is JSON in backticks, or `error:` and a part of the error. The message is what
  `<!-- message: NAME -->` and `<!-- metadata: NAME -->` before `json` snippets made it last.
- `<!-- not run: REASON -->` and `<!-- command: NAME -->` (run by the gate) before a snippet leave it out.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from catenary import Message
from catenary.errors import ExpressionError
from catenary.expr import Document, Environment, Expression, PythonExpression, Script, Template, json_text
from catenary.load import Settings, check, read
from catenary.load.yaml_text import parse_yaml
from catenary.registry import Registry

FENCE = re.compile(
    r"^(?:<!-- (?P<mark>[a-z ]+): (?P<value>.+?) -->\n+)?```(?P<kind>\w*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)
TABLE = re.compile(
    r"^\| (?P<kind>Expression|Template|Document|Script|Python) \| Gives \|.*\n\|[-|: ]+\n(?P<rows>(?:\|.*\n)+)",
    re.MULTILINE,
)
CELL = re.compile(r"(?<!\\)\|")
PROPERTIES: dict[str, Any] = {
    "model": "m",
    "url": "http://127.0.0.1",
    "key": "k",
    "items": [],
    "site": "s",
    "token": "t",
}
RUN_ELSEWHERE = {"not run", "command"}


@dataclass(frozen=True)
class Snippet:
    """One fenced block: its language, its text, the line it begins at, and the mark before it."""

    kind: str
    text: str
    line: int
    mark: str = ""
    value: str = ""


def snippets_of(page: Path) -> list[Snippet]:
    """Give the snippets of a page, in order."""
    source = page.read_text(encoding="utf-8")
    found = {
        m.start(): Snippet(
            m["kind"], m["text"], source.count("\n", 0, m.start()) + 1, m["mark"] or "", m["value"] or ""
        )
        for m in FENCE.finditer(source)
    }
    for m in TABLE.finditer(source):
        line = source.count("\n", 0, m.start("rows")) + 1
        found[m.start()] = Snippet(m["kind"], m["rows"], line, mark="table")
    return [found[start] for start in sorted(found)]


def code_of(cell: str) -> str:
    """Give what stands in the backticks of a cell."""
    inner = cell.replace("\\|", "|")
    fence = "``" if inner.startswith("``") else "`"
    assert inner.startswith(fence) and inner.endswith(fence) and len(inner) > 2, f"no code: {cell}"
    return inner.removeprefix(fence).removesuffix(fence).strip(" " if fence == "``" else "")


class Runner:
    """Runs the snippets of one page in `folder`, which must be the current one."""

    def __init__(self, folder: Path, root: Path) -> None:
        self._folder = folder
        self._root = root
        self._names: dict[str, Any] = {"__name__": "__snippet__"}
        self._message = Message("")
        self._server: subprocess.Popen[str] | None = None
        self._addresses: dict[str, str] = {}
        shutil.copytree(root / "chains", folder / "chains")  # which are written to
        for shared in ("components", "docs"):
            (folder / shared).symlink_to(root / shared)
        (folder / ".venv" / "bin").mkdir(parents=True)
        for tool in ("catenary", "python"):
            (folder / ".venv" / "bin" / tool).symlink_to(Path(sys.executable).parent / tool)

    def close(self) -> None:
        """End what runs to the end of the page."""
        if self._server is not None:
            self._server.terminate()
            self._server.wait(30)
            self._server = None

    def run(self, snippet: Snippet) -> None:
        """Run one snippet. Raises: AssertionError: when it does not do what the page says."""
        if snippet.mark in RUN_ELSEWHERE:
            return
        if snippet.mark == "file":
            (self._folder / snippet.value).write_text(snippet.text, encoding="utf-8")
        if snippet.mark == "prints":
            ran = self._ran(snippet.value)
            assert ran.stdout.rstrip("\n") == snippet.text.rstrip("\n"), f"{snippet.value}\n{ran.stdout}{ran.stderr}"
        if snippet.mark == "serves":
            self._serve(snippet)
        elif snippet.mark == "table":
            self._table(snippet)
        elif snippet.mark == "message":
            self._message = Message(snippet.text, metadata=self._message.metadata)
        elif snippet.mark == "metadata":
            self._message = Message(self._message.data, metadata=json.loads(snippet.text))
        elif snippet.kind == "python" and snippet.mark != "file":
            self._python(snippet)
        elif snippet.kind in {"json", "yaml"}:
            self._document(snippet)
        elif snippet.kind == "sh":
            self._commands(snippet)

    def _python(self, snippet: Snippet) -> None:
        printed = io.StringIO()
        padding = "\n" * snippet.line  # so that a traceback names the line of the page
        with contextlib.redirect_stdout(printed):
            exec(compile(padding + snippet.text, "page", "exec", dont_inherit=True), self._names)
        claims = re.findall(r"^ *print\(.*\)  # (.+)$", snippet.text, re.MULTILINE)
        lines = printed.getvalue().splitlines()
        missing = [claim for claim in claims if claim not in lines]
        assert not missing, f"claims {missing}, printed {lines}"

    def _document(self, snippet: Snippet) -> None:
        value = json.loads(snippet.text) if snippet.kind == "json" else parse_yaml(snippet.text, file="page").value
        if not isinstance(value, dict) or "metadata" not in value:
            return
        name = snippet.value or f"{value['ruleChain']['id']}.{snippet.kind}"
        (self._folder / name).write_text(snippet.text, encoding="utf-8")
        problems = check(
            read(Path(name)),
            Registry(),
            Settings(Environment(properties=PROPERTIES)),
        )
        assert not problems, [str(problem) for problem in problems]

    def _table(self, snippet: Snippet) -> None:
        wrong: list[str] = []
        for number, row in enumerate(snippet.text.splitlines()):
            source, claim = (cell.strip() for cell in CELL.split(row)[1:3])
            gives = self._given(snippet.kind, code_of(source))
            expected = claim if claim.startswith("error: ") else json.loads(code_of(claim))
            same = expected.removeprefix("error: ") in str(gives) if isinstance(gives, ExpressionError) else False
            if not same and (isinstance(gives, ExpressionError) or gives != expected):
                wrong.append(f"line {snippet.line + number}: {source} gives {gives!r}")
        assert not wrong, "\n".join(wrong)

    def _given(self, kind: str, source: str) -> Any:
        environment = Environment(vars={"limit": 40}, properties={"site": "north"}, roots=(self._folder,))
        compile_source: Any = {
            "Expression": lambda: Expression.compile(source, environment).call,
            "Template": lambda: Template.compile(source, environment).value,
            "Document": lambda: Document.compile(source, environment).render,
            "Script": lambda: Script.compile(source, environment).call,
            "Python": lambda: PythonExpression.compile(source, environment).call,
        }[kind]
        try:
            return json.loads(json_text(compile_source()(self._message)))
        except ExpressionError as error:
            return error

    def _commands(self, snippet: Snippet) -> None:
        for line in snippet.text.replace("\\\n", " ").splitlines():
            command, _, claim = line.partition("  # ")
            if not command.strip():
                continue
            assert re.search(r"\b(catenary|python|curl) ", command), f"cannot run {command!r}; mark the snippet"
            self._command(command, claim.strip())

    def _serve(self, snippet: Snippet) -> None:
        """Start a server, and note where it is in truth."""
        self.close()
        log = self._folder / "server.log"
        with log.open("w") as opened:
            command = f"exec {snippet.text.strip()} --port 0"
            self._server = subprocess.Popen(
                ["bash", "-c", command], env=self._environment(), stdout=opened, stderr=opened, text=True
            )
        deadline = time.monotonic() + 60
        while (found := re.search(r"(http://\S+)\s+the API", log.read_text())) is None:
            assert time.monotonic() < deadline and self._server.poll() is None, log.read_text()
            time.sleep(0.05)
        self._addresses[snippet.value] = found[1]

    def _command(self, command: str, claim: str) -> None:
        ran = self._ran(command)
        expected = re.fullmatch(r"exit code (\d+)", claim)
        assert ran.returncode == (int(expected[1]) if expected else 0), f"{command}\n{ran.stdout}{ran.stderr}"
        if claim and not expected:
            assert claim in ran.stdout.splitlines(), f"{command} printed {ran.stdout!r}"

    def _environment(self) -> dict[str, str]:
        search = f"{self._folder / '.venv' / 'bin'}{os.pathsep}{os.environ['PATH']}"
        return {**os.environ, "PATH": search, "CATENARY_DATA_DIR": str(self._folder / "data")}

    def _ran(self, command: str) -> subprocess.CompletedProcess[str]:
        for written, address in self._addresses.items():
            command = command.replace(written, address)
        return subprocess.run(
            ["bash", "-c", command],
            env=self._environment(),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
