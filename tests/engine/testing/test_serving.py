"""Servers for tests."""

from __future__ import annotations

import socket
import subprocess
import sys

import pytest

from catenary.errors import EngineError
from catenary.testing import RecordingApi, serve, serving


async def test_a_port_may_be_named(client, free_port):
    with serve(RecordingApi(), port=free_port) as server:
        assert server.url == f"http://127.0.0.1:{free_port}"
        assert (await client.request("GET", server.url)).text == "ok"


def test_a_port_in_use_is_told():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with (
            pytest.raises(EngineError, match=rf"cannot serve on 127\.0\.0\.1:{port}"),
            serve(RecordingApi(), port=port),
        ):
            pass


def test_where_programs_may_not_listen_there_is_no_free_port(monkeypatch):
    class Closed(socket.socket):
        def bind(self, address):
            raise PermissionError(address)

    monkeypatch.setattr(serving.socket, "socket", Closed)
    with pytest.raises(EngineError, match="no free port"):
        serving.free_port()


def test_a_missing_server_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    with pytest.raises(EngineError, match="uvicorn") as caught, serve(RecordingApi()):
        pass
    assert "catenary[server]" in caught.value.hint


def test_a_server_that_does_not_start_is_told(monkeypatch):
    import uvicorn

    async def stop_at_once(self, sockets=None):
        return

    monkeypatch.setattr(uvicorn.Server, "serve", stop_at_once)
    with pytest.raises(EngineError, match="did not start"), serve(RecordingApi()):
        pass


def test_nothing_listens_after_the_block():
    with serve(RecordingApi()) as server:
        pass
    with socket.socket() as probe:
        assert probe.connect_ex((server.host, server.port)) != 0


def test_the_plugin_and_the_package_import_neither_server_nor_client():
    code = "import sys, catenary.testing.plugin; print({'httpx', 'uvicorn', 'pydantic'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "set()"
