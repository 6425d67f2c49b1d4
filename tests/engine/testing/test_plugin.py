"""The fixtures of the pytest plugin."""

from __future__ import annotations

import socket


def test_the_scripted_model_begins_without_a_script(scripted_model):
    scripted_model.add("Hi")
    assert scripted_model.left == 1


def test_the_recording_api_begins_without_requests(recording_api):
    assert recording_api.requests == []


def test_the_clock_stands_at_zero(fake_clock):
    assert fake_clock.monotonic() == 0


def test_the_free_port_is_free(free_port):
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", free_port)) != 0


def test_the_engine_is_open(engine):
    assert engine.properties == {}


def test_each_test_gets_an_engine_of_its_own(engine, request):
    engine.tool(len, name="own")
    assert list(engine.tools) == ["own"]
