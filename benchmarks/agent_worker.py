"""Run one contender: `python agent_worker.py NAME URL`; reads commands as lines of JSON, and writes what it measured.

A command is `{"case": NAME, "count": N}`, or `{"case": "paced", "streams": N, "pieces": N, "rate": R}`.
"""

from __future__ import annotations

import asyncio
import gc
import json
import sys
import time
from importlib import import_module
from pathlib import Path
from statistics import quantiles
from typing import Any, Protocol

_APART_S = 0.01


class Contender(Protocol):
    """What each module of `contenders` has as `Contender`; made with the address of the model."""

    async def reply(self) -> str: ...
    async def tool(self) -> str: ...
    async def stream(self, model: str, each: Any) -> None:
        """Stream a reply of a model; `each` is called with each piece of text."""
        ...


def resident_kib() -> int:
    """Give the memory that is in use."""
    with Path("/proc/self/status").open() as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))


async def counted(contender: Contender, case: str, count: int) -> dict[str, Any]:
    """Give the CPU time of so many runs, one after the other."""
    gc.collect()
    began, pieces = time.process_time(), 0

    def each(_: str) -> None:
        nonlocal pieces
        pieces += 1

    for _ in range(count):
        if case.startswith("deltas"):
            await contender.stream(case, each)
        else:
            await getattr(contender, case)()
    return {"us": (time.process_time() - began) / count * 1e6, "pieces": pieces / count}


async def paced(contender: Contender, streams: int, pieces: int, rate: float) -> dict[str, Any]:
    """Read streams side by side; give how late pieces were, the longest silence, and the memory of a stream.

    They begin one after the other, 100 a second: what is measured is how they go on beside each other.
    """
    late: list[float] = []
    longest = 0.0

    async def one() -> None:
        nonlocal longest
        last = 0.0
        rest = ""

        def each(text: str) -> None:
            nonlocal last, longest, rest
            now = time.monotonic_ns()
            *stamps, rest = (rest + text).split(" ")
            late.extend((now - int(stamp)) / 1e6 for stamp in stamps if stamp)
            if last:
                longest = max(longest, (now - last) / 1e6)
            last = now

        await contender.stream(f"paced-{pieces}-{rate:g}", each)

    gc.collect()
    before, began = resident_kib(), time.process_time()
    tasks: list[asyncio.Task[None]] = []
    for _ in range(streams):
        tasks.append(asyncio.create_task(one()))
        await asyncio.sleep(_APART_S)
    await asyncio.sleep(max(pieces / rate * 0.8 - streams * _APART_S, 0))
    kib = (resident_kib() - before) / streams
    await asyncio.gather(*tasks)
    cuts = quantiles(late, n=100)
    cpu = (time.process_time() - began) * 1e6 / (streams * pieces)
    return {"p50": cuts[49], "p99": cuts[98], "longest": longest, "kib": kib, "us": cpu, "pieces": len(late)}


async def main(name: str, url: str) -> None:
    """Answer commands until there are no more."""
    contender = import_module(f"contenders.{name}").Contender(url)
    for case in ("reply", "tool", "deltas-20"):
        await counted(contender, case, 3)
    gc.collect()
    gc.freeze()  # what is loaded stays: the collector need not look at it time and again
    gc.set_threshold(20_000, 20, 20)  # as `catenary serve` does, and for all contenders
    print(json.dumps({"ready": name}), flush=True)
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        command = json.loads(line)
        case = command.pop("case")
        done = await paced(contender, **command) if case == "paced" else await counted(contender, case, **command)
        print(json.dumps(done), flush=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2]))
