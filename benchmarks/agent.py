"""Measure agents beside other agents, each in its own process, against one scripted model: see `README.md`."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from contextlib import ExitStack, suppress
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

HERE: Final = Path(__file__).parent
CONTENDERS: Final = {
    "by hand": "by_hand",
    "catenary": "ours",
    "LangGraph": "langgraph",
    "pydantic-ai": "pydantic_ai",
    "agentscope": "agentscope",
}
PEERS: Final = ("LangGraph", "pydantic-ai", "agentscope")
DELTAS: Final = 200
TITLES: Final = {
    "reply": "a model round",
    "tool": "two model rounds and a tool",
    "round": "of these, the round of tools",
    "delta": "a streamed piece",
}


class Worker:
    """One contender in its process."""

    def __init__(self, name: str, python: str, url: str, *, is_quiet: bool) -> None:
        errors = subprocess.DEVNULL if is_quiet else None
        program = [python, str(HERE / "agent_worker.py"), CONTENDERS[name], url]
        self._process = subprocess.Popen(
            program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True
        )
        self.name = name

    def is_ready(self) -> bool:
        """Wait until it is warm; False when its library is not there."""
        assert self._process.stdout is not None
        return bool(self._process.stdout.readline())

    def ask(self, **command: Any) -> dict[str, float]:
        """Have something measured."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps(command), file=self._process.stdin, flush=True)
        return json.loads(self._process.stdout.readline())

    def close(self) -> None:
        """End the process."""
        with suppress(BrokenPipeError, OSError):
            self._process.communicate(timeout=10)
        self._process.kill()
        self._process.wait()


def main() -> None:
    """Measure, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a smoke test of some seconds; its figures mean little")
    parser.add_argument("--agentscope", metavar="PYTHON", default=sys.executable, help="the Python that has agentscope")
    parser.add_argument("--json", metavar="FILE", help="write all figures to this file as well")
    options = parser.parse_args()
    with ExitStack() as stack:
        server = subprocess.Popen([sys.executable, str(HERE / "servers" / "model.py")], stdout=subprocess.PIPE)
        stack.callback(server.wait)
        stack.callback(server.terminate)
        assert server.stdout is not None
        url = f"http://127.0.0.1:{int(server.stdout.readline())}/v1"
        workers = _workers(stack, url, options.agentscope)
        figures = _cpu(workers, quick=options.quick)
        paced = _paced(workers, quick=options.quick)
    _show(figures, paced)
    if options.json:
        Path(options.json).write_text(json.dumps({"cpu": figures, "paced": paced}, indent=1) + "\n", encoding="utf-8")


def _workers(stack: ExitStack, url: str, agentscope: str) -> list[Worker]:
    workers: list[Worker] = []
    for name in CONTENDERS:
        worker = Worker(name, agentscope if name == "agentscope" else sys.executable, url, is_quiet=name in PEERS)
        stack.callback(worker.close)
        if worker.is_ready():
            workers.append(worker)
        else:
            print(f"{name} is not measured: it does not run here", file=sys.stderr)
    if not {"by hand", "catenary"} <= {worker.name for worker in workers}:
        sys.exit("what cannot be compared is not measured")
    return workers


def _cpu(workers: Sequence[Worker], *, quick: bool) -> dict[str, dict[str, float]]:
    """Give microseconds of CPU time, by case and contender; all take turns."""
    counts = {"reply": 5, "tool": 5, "deltas": 2} if quick else {"reply": 60, "tool": 40, "deltas": 20}
    samples: dict[str, dict[str, list[float]]] = {case: {worker.name: [] for worker in workers} for case in TITLES}
    for turn in range(2 if quick else 11):
        print(f"measuring CPU time, turn {turn + 1} ...", file=sys.stderr)
        for worker in workers:
            reply = worker.ask(case="reply", count=counts["reply"])["us"]
            tool = worker.ask(case="tool", count=counts["tool"])["us"]
            deltas = worker.ask(case=f"deltas-{DELTAS}", count=counts["deltas"])["us"]
            for case, value in {
                "reply": reply,
                "tool": tool,
                "round": tool - 2 * reply,
                "delta": deltas / DELTAS,
            }.items():
                samples[case][worker.name].append(value)
    return {case: {name: median(values) for name, values in of.items()} for case, of in samples.items()}


def _paced(workers: Sequence[Worker], *, quick: bool) -> dict[str, dict[str, dict[str, float]]]:
    """Give what streams that go on beside each other suffer, by load and contender."""
    loads = {"20 streams, 50 pieces/s": (20, 50 if quick else 500, 50.0)}
    if not quick:
        loads["1000 streams, 10 pieces/s"] = (1000, 200, 10.0)
    found: dict[str, dict[str, dict[str, float]]] = {}
    for title, (streams, pieces, rate) in loads.items():
        chosen = [worker for worker in workers if streams < 1000 or worker.name in ("by hand", "catenary")]
        print(f"measuring {title} ...", file=sys.stderr)
        found[title] = {
            worker.name: worker.ask(case="paced", streams=streams, pieces=pieces, rate=rate) for worker in chosen
        }
    return found


def _show(figures: dict[str, dict[str, float]], paced: dict[str, dict[str, dict[str, float]]]) -> None:
    names = list(figures["reply"])
    print("microseconds of CPU time of the client's process, medians of turns; `own` is what is beyond the floor\n")
    print(f"| work | {' | '.join(names)} | own | the best peer's own | goal | reached |")
    print("|---|" + "---|" * (len(names) + 4))
    for case, values in figures.items():
        cells = " | ".join(f"{values[name]:.0f}" if case != "delta" else f"{values[name]:.1f}" for name in names)
        print(f"| {TITLES[case]} | {cells} | {_judged(case, values)} |")
    print("\nhow late pieces are, in ms, the longest silence of a stream, and its memory\n")
    print("| load | | p50 | p99 | longest silence | KiB a stream | us a piece |\n|---|---|---|---|---|---|---|")
    for load, rows in paced.items():
        for name, row in rows.items():
            cells = [f"{row[key]:.1f}" for key in ("p50", "p99", "longest", "kib", "us")]
            print(f"| {load} | {name} | {' | '.join(cells)} |")
    for load, rows in paced.items():
        ours, floor = rows["catenary"], rows["by hand"]
        print(f"\n{load}: p99 {ours['p99'] - floor['p99']:+.1f} ms (goal at 20 streams: 1), longest silence ", end="")
        print(f"{ours['longest']:.0f} ms (goal at 1000: 500), {ours['kib']:.0f} KiB a stream (goal at 1000: 150)")


def _judged(case: str, values: dict[str, float]) -> str:
    """Compare what is spent beyond the floor with the best peer's, or with the goal."""
    floor = values["by hand"]
    ours = values["catenary"] - floor
    peers = [values[name] - floor for name in PEERS if name in values]
    best = f"{min(peers):.0f}" if peers else "-"
    if case == "round":
        return f"{ours:.0f} | {best} | <= 300 | {'yes' if ours <= 300 else 'NO'}"
    if not peers:
        return f"{ours:.1f} | - | a third of the best peer's | -"
    return f"{ours:.1f} | {min(peers):.1f} | a third of it | {'yes' if 3 * ours <= min(peers) else 'NO'}"


if __name__ == "__main__":
    main()
