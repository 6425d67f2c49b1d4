"""A job on all processors: a chain becomes a function that is sent to other processes.

python examples/many_processes.py
"""

from __future__ import annotations

import multiprocessing
from typing import Any

from catenary import SUCCESS, Context, Engine, Message, Relation

CHAIN: dict[str, Any] = {
    "ruleChain": {"id": "primes"},
    "metadata": {
        "nodes": [
            {"id": "odd", "type": "exprFilter", "configuration": {"expr": "msg % 2 == 1"}},
            {"id": "count", "type": "functions", "configuration": {"functionName": "divisors"}},
        ],
        "connections": [{"fromId": "odd", "type": "True", "toId": "count"}],
    },
}


def divisors(_ctx: Context, msg: Message) -> tuple[Relation, Message]:
    """List what divides a number; what the processes spend their time with."""
    number = msg.value
    return SUCCESS, msg.with_data([n for n in range(1, number + 1) if number % n == 0])


def main() -> None:
    """Send numbers to two processes, and print what comes back, in order."""
    with Engine() as engine:
        engine.function("divisors")(divisors)
        run = engine.load(CHAIN).as_function()  # carries the chain and what it needs; the engine is made over there
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        for number, found in zip([7, 8, 9, 15], pool.map(run, [7, 8, 9, 15]), strict=True):
            print(number, found)


if __name__ == "__main__":
    main()
