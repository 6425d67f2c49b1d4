"""A process that evaluates each text of the corpus in a child of its own, and watches what the child does.

`python -m tests.security.keeper FOLDER` reads requests `{"evaluator", "text"}` as JSON lines and answers each with a
verdict: what came of it, the seconds and bytes it took, and everything it did to the outside world.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import time
from datetime import datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any, Final

from tests.security.evaluators import CANARY, EVALUATORS, environment, warm_up

from catenary.errors import ExpressionError, ScriptError
from catenary.expr import budget

_MEMORY: Final = 2**30
_SECONDS: Final = 15
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
    name = request["evaluator"]
    if name == "v8":  # it does not live through a fork
        warm_up(name, where)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    watch.is_on = True
    began = time.monotonic()
    try:
        value = EVALUATORS[name](request["text"], where)
    except (ExpressionError, ScriptError) as error:
        verdict |= {"outcome": "refused", "shown": str(error)}
    except MemoryError:
        verdict |= {"outcome": "crash", "shown": "MemoryError"}
    except BaseException as error:
        verdict |= {"outcome": "crash", "shown": f"{type(error).__name__}: {error}"}
    else:
        verdict["strange"] = _strange(value)
        verdict["shown"] = str(value)[:100_000] if not verdict["strange"] else repr(value)[:1000]
    verdict["seconds"] = time.monotonic() - began
    watch.is_on = False
    verdict["bytes"] = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    verdict["leaks"] = CANARY in verdict["shown"]
    verdict["shown_length"] = len(verdict["shown"])
    verdict["shown"] = verdict["shown"][:500]
    verdict["seen"] = watch.seen
    return verdict


def _in_child(request: dict[str, str], where: Any, watch: _Watch) -> dict[str, Any]:
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        signal.alarm(_SECONDS)
        if request["evaluator"] != "v8":  # which reserves far more addresses than it uses
            resource.setrlimit(resource.RLIMIT_AS, (_used() + _MEMORY, _used() + _MEMORY))
        answer = json.dumps(_judge(request, where, watch))
        with os.fdopen(writer, "w") as out:
            out.write(answer)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as answers:
        text = answers.read()
    _, status = os.waitpid(child, 0)
    if text:
        return json.loads(text)
    return {"outcome": "killed", "shown": f"signal {status & 127}, exit {status >> 8}"}


def _used() -> int:
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


def main() -> None:
    """Answer requests until there are no more."""
    folder = Path(sys.argv[1])
    os.environ["CATENARY_CANARY"] = CANARY
    budget.SECONDS = 1.0  # type: ignore[misc] - the limit is what is looked at, not its size
    where = environment(folder)
    watch = _Watch(folder)
    for name in EVALUATORS:
        if name != "v8":
            warm_up(name, where)
    for line in sys.stdin:
        print(json.dumps(_in_child(json.loads(line), where, watch)), flush=True)


if __name__ == "__main__":
    main()
