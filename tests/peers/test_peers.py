"""The servers that tests talk to can be killed, frozen and started again, and end with whoever started them."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.request import urlopen

import pytest
from tests.peers import server as servers
from tests.peers.mariadb import MariaDb
from tests.peers.nginx import Nginx
from tests.peers.postgres import Postgres
from tests.peers.redis import Redis
from tests.peers.server import accepts, descendants, free_port, program
from tests.programs import runs


def test_postgres_takes_statements_and_keeps_its_port_and_data_when_killed(postgres: Postgres) -> None:
    port = postgres.port
    postgres.sql("CREATE TABLE IF NOT EXISTS kept (n int); INSERT INTO kept VALUES (1)")
    postgres.kill()
    assert not accepts(port)
    postgres.start()
    assert postgres.port == port
    assert postgres.sql("SELECT count(*) > 0 FROM kept; DROP TABLE kept") == "t"


def test_redis_takes_commands_and_is_gone_when_killed(redis_server: Redis) -> None:
    assert redis_server.cli("SET", "a", "1") == "OK"
    redis_server.kill()
    assert not accepts(redis_server.port)
    redis_server.start()
    assert redis_server.cli("GET", "a") == ""


def test_mariadb_takes_statements_and_keeps_its_port_and_data_when_killed(mariadb: MariaDb) -> None:
    mariadb.sql("CREATE TABLE kept (n int); INSERT INTO kept VALUES (1)")
    mariadb.kill()
    assert not accepts(mariadb.port)
    mariadb.start()
    assert mariadb.sql("SELECT count(*) >= 0 FROM kept; DROP TABLE kept") == "1"


def test_nginx_passes_requests_on_with_and_without_tls(nginx_before: Callable[..., Nginx], tmp_path: Path) -> None:
    (tmp_path / "page.txt").write_text("a page")
    handler = partial(SimpleHTTPRequestHandler, directory=str(tmp_path))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as upstream:
        Thread(target=upstream.serve_forever, daemon=True).start()
        nginx = nginx_before(f"http://127.0.0.1:{upstream.server_port}")
        trusted = ssl.create_default_context(cafile=str(nginx.certificate))
        with urlopen(f"{nginx.url}/page.txt") as plain, urlopen(f"{nginx.tls_url}/page.txt", context=trusted) as tls:
            assert plain.read() == tls.read() == b"a page"
        nginx.kill()
        assert not accepts(nginx.tls_port)
        nginx.start()
        assert accepts(nginx.tls_port)
        upstream.shutdown()


def test_a_frozen_server_keeps_connections_open_and_answers_again_when_thawed(redis_server: Redis) -> None:
    with socket.create_connection(("127.0.0.1", redis_server.port), timeout=15) as client:
        redis_server.freeze()
        client.settimeout(0.2)
        client.sendall(b"PING\r\n")
        with pytest.raises(TimeoutError):
            client.recv(64)
        redis_server.thaw()
        client.settimeout(15)
        assert client.recv(64).startswith(b"-NOAUTH")


def test_a_program_that_is_missing_is_a_skip_that_names_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(servers.REQUIRED, raising=False)
    with pytest.raises(pytest.skip.Exception, match="apt-get install nothing-server"):
        program("no-such-program", "nothing-server")


def test_a_program_that_is_missing_is_a_failure_where_servers_are_required(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(servers.REQUIRED, "required")
    with pytest.raises(pytest.fail.Exception, match="apt-get install nothing-server"):
        program("no-such-program", "nothing-server")


@pytest.mark.timeout(60)
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT], ids=["killed", "interrupted"])
def test_no_server_outlives_the_process_that_started_it(how: signal.Signals, tmp_path: Path) -> None:
    program("redis-server", Redis.package)
    text = (
        "import time\nfrom tests.peers.redis import Redis\n"
        "server = Redis()\nserver.start()\nprint(server.port, server._process.pid, server.folder, flush=True)\n"
        "time.sleep(60)\n"
    )
    root = Path(__file__).parents[2]
    starter = subprocess.Popen([sys.executable, "-c", text], cwd=root, stdout=subprocess.PIPE, text=True)
    assert starter.stdout is not None
    port, pid, folder = starter.stdout.readline().split()
    assert accepts(int(port))
    starter.send_signal(how)
    starter.wait()
    starter.stdout.close()
    deadline = time.monotonic() + 30
    while runs(int(pid)) and time.monotonic() < deadline:
        time.sleep(0.01)
    shutil.rmtree(folder)
    assert not accepts(int(port))


def test_a_port_is_given_to_one_test_process_only() -> None:
    port = free_port()
    text = (
        "import random\nfrom tests.peers.server import free_port\n"
        f"ports = iter([{port}, *range(15_000, 32_000)])\n"
        "random.SystemRandom.randrange = lambda *_: next(ports)\nprint(free_port())\n"
    )
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", text], cwd=root, capture_output=True, text=True, check=True)
    assert int(done.stdout) != port


def test_nothing_of_a_frozen_server_goes_on(postgres: Postgres) -> None:
    postgres.freeze()
    for pid in descendants(postgres._process.pid):  # type: ignore[union-attr]
        assert Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in {"T", "Z"}


def test_the_processes_below_a_process_are_found() -> None:
    assert descendants(os.getpid())[0] == os.getpid()
