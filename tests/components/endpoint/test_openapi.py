"""What endpoints say of themselves holds: a program that reads their document tries them."""

from __future__ import annotations

import asyncio
import sys

import pytest
from tests.components.endpoint.serving_chains import address_of, chain, router

from catenary import Engine

READING = {"type": "object", "required": ["t"], "properties": {"t": {"type": "number"}, "unit": {"enum": ["C", "F"]}}}


@pytest.mark.timeout(120)
async def test_schemathesis_finds_nothing() -> None:
    engine = Engine()
    routers = [
        router("POST", "/devices/:id", additionalInfo={"schema": READING, "summary": "Take a reading"}),
        router("GET", "/search"),
        router("PUT", "/files/*rest"),
        router("DELETE", "/devices/{id}", {"wait": False}),
    ]
    engine.load(chain(routers, openapiPath="/openapi.json", maxBodyBytes=100_000))
    async with engine:
        trying = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "schemathesis.cli", "run", f"{address_of(engine)}/openapi.json"),
            *("--max-examples", "10", "--generation-deterministic"),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        said, _ = await trying.communicate()
    assert trying.returncode == 0, said.decode()
    assert b"4 passed" in said
