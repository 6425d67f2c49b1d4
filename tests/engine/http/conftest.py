"""Servers and clients for the tests of HTTP."""

from __future__ import annotations

import subprocess

import pytest
from tests.ahead import jump as jump

from catenary.http import HttpClients
from catenary.testing import RecordingApi, serve


@pytest.fixture
async def clients():
    made = HttpClients()
    yield made
    await made.close()


@pytest.fixture
def api():
    return RecordingApi()


@pytest.fixture
def server(api):
    with serve(api) as server:
        yield server


@pytest.fixture(scope="session")
def certificate(tmp_path_factory):
    """The files of a certificate for 127.0.0.1 that signs itself, and of its key."""
    folder = tmp_path_factory.mktemp("tls")
    files = folder / "cert.pem", folder / "key.pem"
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=test"
    names = ["-addext", "subjectAltName=IP:127.0.0.1", "-out", str(files[0]), "-keyout", str(files[1])]
    subprocess.run([*command.split(), *names], check=True, capture_output=True)
    return files
