"""A process that has texts of the corpus evaluated in children, one for each evaluator, and watches what they do.

`python -m tests.security.keeper FOLDER` reads requests `{"evaluator", "text"}` as JSON lines and answers each with a
verdict: what came of it, the seconds and bytes it took, and everything it did to the outside world. A child takes one
text after the other, so that what one does to the next is seen too; after a text that took much it is replaced.
"""

from __future__ import annotations

import json
import os
import resource
import select
import signal
import sys
import time
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from pathlib import Path
from typing import IO, Any, Final

from tests.security.evaluators import CANARY, EVALUATORS, environment, warm_up

from catenary.errors import ExpressionError, ScriptError
from catenary.expr import budget
from catenary.expr.document import run as documents

_MEMORY: Final = 2**30
_SECONDS: Final = 45  # on the clock, whatever for
_MUCH_MEMORY: Final = 64 * 2**20
_MUCH_TIME: Final = 2.0
_WATCHED: Final = (
    "open", "import", "exec", "compile", "os.system", "os.exec", "os.fork", "os.remove", "os.listdir", "os.scandir",
    "os.putenv", "subprocess.Popen", "socket.connect", "socket.bind", "socket.getaddrinfo", "ctypes.dlopen",
    "object.__getattr__", "sys._getframe", "code.__new__", "shutil.rmtree", "pickle.find_class", "marshal.loads",
)  # fmt: skip
_COMPILES: Final = frozenset({"exec", "compile"})  # closures are Python text of the engine's own
_USUAL_IN_LIBRARIES: Final = frozenset({
    "object.__getattr__", "sys._getframe", "os.listdir", "os.scandir", "import", "code.__new__", "marshal.loads",
})  # fmt: skip
_LIBRARY: Final = tuple({sys.prefix, sys.base_prefix, str(Path(json.__file__).parent.parent), "/usr/share/zoneinfo"})
_OF_THE_LANGUAGE: Final = (str, int, float, bool, type(None), bytes, datetime, timedelta, tzinfo)


def _strange(value: Any, depth: int = 0) -> str:
    """Name the first thing in a value that is none of the language; empty when there is none."""
    if depth > 200:
        return ""
    if type(value) is list or isinstance(value, tuple):
        return next(filter(None, (_strange(element, depth + 1) for element in value)), "")
    if isinstance(value, dict):
        return next(filter(None, (_strange(part, depth + 1) for pair in value.items() for part in pair)), "")
    return "" if isinstance(value, _OF_THE_LANGUAGE) else type(value).__name__


class _Watch:
    """Keeps what Python tells its audit hooks."""

    def __init__(self, folder: Path) -> None:
        self.is_on = False
        self.seen: list[str] = []
        self._allowed = (*_LIBRARY, str(folder / "inside"), str(Path(__file__).parents[2] / "engine"))
        sys.addaudithook(self._hook)

    def _hook(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self.is_on or event not in _WATCHED or event in _COMPILES:
            return
        self.is_on = False  # what this does is no deed of the text
        try:
            self._note(event, arguments)
        finally:
            self.is_on = True

    def _note(self, event: str, arguments: tuple[Any, ...]) -> None:
        first = arguments[0] if arguments else None
        if event == "import" and str(first).partition(".")[0] in {"catenary", "zoneinfo", "encodings"}:
            return
        if event == "open" and (not isinstance(first, str) or first.startswith((*self._allowed, "<"))):
            return  # what begins with `<` is no file: Python looks for the text of a closure that does not compile
        if event in _USUAL_IN_LIBRARIES and _is_library():
            return
        self.seen.append(f"{event} {first!r}"[:200])


def _is_library() -> bool:
    """Tell whether the event comes out of code that stands in a file (closures stand in none)."""
    frame: Any = sys._getframe(3)
    return frame is not None and frame.f_code.co_filename != "<expression>"


def _judge(request: dict[str, str], where: Any, watch: _Watch) -> dict[str, Any]:
    verdict: dict[str, Any] = {"outcome": "value", "strange": ""}
    evaluate = EVALUATORS[request["evaluator"]]
    before = _most_memory()
    watch.seen.clear()
    watch.is_on = True
    began = time.process_time()
    try:
        value = evaluate(request["text"], where)
    except (ExpressionError, ScriptError) as error:
        verdict |= {"outcome": "refused", "shown": str(error)}
    except MemoryError:
        verdict |= {"outcome": "crash", "shown": "MemoryError"}
    except BaseException as error:
        verdict |= {"outcome": "crash", "shown": f"{type(error).__name__}: {error}"}
    else:
        verdict["strange"] = _strange(value)
        verdict["shown"] = str(value)[:100_000] if not verdict["strange"] else repr(value)[:1000]
    verdict["seconds"] = time.process_time() - began  # of this process: the machine may be busy
    watch.is_on = False
    verdict["bytes"] = _most_memory() - before
    verdict["leaks"] = CANARY in verdict["shown"]
    verdict["shown_length"] = len(verdict["shown"])
    verdict["shown"] = verdict["shown"][:500]
    verdict["seen"] = watch.seen
    verdict["next"] = _next(evaluate, where)
    return verdict


def _next(evaluate: Any, where: Any) -> str:
    """Give what the evaluator makes of a text that comes after."""
    try:
        return str(evaluate("1 + 1", where)).strip("<>")  # which one evaluator puts around
    except BaseException as error:
        return f"{type(error).__name__}: {error}"[:500]


def _most_memory() -> int:
    """Give the most memory that this process ever took, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


@dataclass
class _Child:
    """A process for one evaluator."""

    pid: int
    requests: IO[str]
    answers: IO[str]

    def put(self, line: str) -> dict[str, Any]:
        self.requests.write(line)
        self.requests.flush()
        if not select.select([self.answers], [], [], _SECONDS)[0]:
            os.kill(self.pid, signal.SIGKILL)
        text = self.answers.readline()
        if text.endswith("\n"):
            return json.loads(text)
        _, status = os.waitpid(self.pid, 0)
        return {"outcome": "killed", "shown": f"signal {status & 127}, exit {status >> 8}"}

    def dismiss(self) -> None:
        self.requests.close()
        self.answers.close()
        os.waitpid(self.pid, 0)


class _Children:
    """The children that there are."""

    def __init__(self, where: Any, watch: _Watch) -> None:
        self._where = where
        self._watch = watch
        self._children: dict[str, _Child] = {}

    def answer(self, line: str) -> dict[str, Any]:
        name = json.loads(line)["evaluator"]
        if name not in self._children:
            self._children[name] = self._fork(name)
        verdict = self._children[name].put(line)
        if verdict["outcome"] == "killed":
            del self._children[name]
        elif verdict["took_much"]:
            self._children.pop(name).dismiss()
        return verdict

    def _fork(self, name: str) -> _Child:
        requests, for_requests = os.pipe()
        answers, for_answers = os.pipe()
        child = os.fork()
        if child == 0:
            for other in self._children.values():  # or they would not see the end of their requests
                os.close(other.requests.fileno())
            os.close(for_requests)
            os.close(answers)
            with os.fdopen(requests) as lines, os.fdopen(for_answers, "w") as out:
                self._serve(name, lines, out)
            os._exit(0)
        os.close(requests)
        os.close(for_answers)
        return _Child(child, os.fdopen(for_requests, "w"), os.fdopen(answers))

    def _serve(self, name: str, lines: IO[str], out: IO[str]) -> None:
        if name == "v8":  # it does not live through a fork, and reserves far more addresses than it uses
            warm_up(name, self._where)
        else:
            most = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize() + _MEMORY
            resource.setrlimit(resource.RLIMIT_AS, (most, most))
        began = _most_memory()
        for line in lines:
            verdict = _judge(json.loads(line), self._where, self._watch)
            verdict["took_much"] = verdict["seconds"] > _MUCH_TIME or _most_memory() - began > _MUCH_MEMORY
            out.write(json.dumps(verdict) + "\n")
            out.flush()


def main() -> None:
    """Answer requests until there are no more."""
    folder = Path(sys.argv[1])
    os.environ["CATENARY_CANARY"] = CANARY
    # That a limit holds is what is looked at, not its size.
    budget.SECONDS = 0.4  # type: ignore[misc]
    documents.SECONDS = 0.4  # type: ignore[misc]
    where = environment(folder)
    children = _Children(where, _Watch(folder))
    for name in EVALUATORS:
        if name != "v8":
            warm_up(name, where)
    for line in sys.stdin:
        print(json.dumps(children.answer(line)), flush=True)


if __name__ == "__main__":
    main()
