"""What a message holds is data: it forges no header and no line of the log, and its slow script stops nobody else."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Generator
from typing import Any

import pytest

from catenary import Chain, Engine, Message
from catenary.testing import RecordingApi, serve

FORGED = "a\r\nX-Forged: yes\r\n\r\nGET /second HTTP/1.1"


@pytest.fixture
def engine() -> Generator[Engine]:
    made = Engine()
    yield made
    made.close_sync()


def load(engine: Engine, kind: str, configuration: dict[str, Any], name: str = "c") -> Chain:
    nodes = [{"id": "n", "type": kind, "configuration": configuration}]
    return engine.load({"ruleChain": {"id": name}, "metadata": {"nodes": nodes}})


@pytest.mark.parametrize(
    "settings",
    [
        {"headers": {"X-Value": "${msg.t}"}},
        {"headers": {"${msg.t}": "value"}},
        {"url": "/${msg.t}"},
        {"url": "/?q=${msg.t}"},
    ],
)
def test_line_breaks_in_a_message_forge_no_request(engine: Engine, settings: dict[str, Any]) -> None:
    api = RecordingApi()
    with serve(api) as server:
        chain = load(engine, "restApiCall", {**settings, "url": server.url + settings.get("url", "/")})
        (end,) = chain.run_sync(Message({"t": FORGED})).ends
    assert len(api.requests) <= 1
    for request in api.requests:
        assert "x-forged" not in {name.lower() for name in request.headers}
        assert request.path != "/second"
    if "headers" in settings:
        assert end.relation == "Failure"
        assert not api.requests


def test_a_message_forges_no_line_of_the_log(engine: Engine, caplog: pytest.LogCaptureFixture) -> None:
    pytest.importorskip("quickjs")
    caplog.set_level(logging.INFO, "catenary.log")
    text = "a\r\n2026-01-01 ERROR forged\x1b[2J\x85b\u2028c\x00"
    load(engine, "log", {"jsScript": "return msg.t;"}).run_sync(Message({"t": text}))
    load(engine, "log", {}, "d").run_sync(Message({"t": text}, metadata={"k": text}))
    script, default = [record.getMessage() for record in caplog.records]
    assert script == "a\n\t2026-01-01 ERROR forged\\x1b[2J\\x85b\\u2028c\\x00"
    assert len(default.splitlines()) == 4
    assert "\x1b" not in default


async def test_a_script_without_an_end_is_stopped_while_other_runs_go_on(engine: Engine) -> None:
    pytest.importorskip("quickjs")
    endless = load(engine, "jsFilter", {"jsScript": "for (;;);", "blocking": True}, "endless")
    quick = load(engine, "jsFilter", {"jsScript": "return true;"}, "quick")
    stopped = asyncio.ensure_future(endless.run(Message("{}")))
    passed = 0
    while not stopped.done():
        assert (await quick.run(Message("{}"))).ok
        passed += 1
        await asyncio.sleep(0)
    (end,) = (await stopped).ends
    assert end.relation == "Failure"
    assert "execution timeout" in str(end.error)
    assert passed >= 5
