"""The HTML page: one file, secrets masked, and a script that a browser runs."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.engine.drawing.test_overlay import CHAIN

from catenary import Component, Config, Engine, Message, option, register
from catenary.cli import main
from catenary.drawing import diagram_of, overlay_of, page, place
from catenary.drawing.settings import shown_settings
from catenary.load import read
from catenary.recording import MemoryRecorder
from catenary.registry import Registry
from catenary.secrets import encrypt

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class Login(Config):
    """Nested settings."""

    access_token: str = option("", help="A secret.", secret=True)


class SafeConfig(Config):
    """Settings with secrets."""

    password: str = option("", help="A secret.", secret=True, also=["pwd"])
    user: str = option("", help="No secret.")
    login: Login = option(Login(), help="More.")


@register("t/safe", category="test")
class Safe(Component[SafeConfig]):
    """Has secrets."""

    relations = ()

    def run(self, ctx, msg):
        raise AssertionError("only drawn")


def drawn(chain=CHAIN, record=None):
    definition, registry = read(chain).definition, Registry()
    overlay = overlay_of(record) if record else None
    return page(place(diagram_of(definition, registry), landscape=True), definition, registry, overlay, record)


def nodes_in(text):
    return json.loads(re.search(r'id="nodes">(.*?)</script>', text, re.DOTALL)[1])


def test_the_page_is_one_file_and_asks_for_nothing():
    text = drawn()
    assert "default-src 'none'" in text
    assert not re.findall(r"""(?:src|href)\s*=|@import|url\(|fetch\(|https?://(?!www\.w3\.org)""", text)
    assert text == drawn()


def test_nothing_in_a_chain_gets_out_of_its_place():
    evil = "</script><script>alert(1)</script><img src=x onerror=alert(1)>"
    chain = {
        "ruleChain": {"id": "c", "name": evil},
        "metadata": {
            "nodes": [{"id": evil, "type": evil, "name": evil, "configuration": {"x": evil}}],
            "connections": [],
        },
    }
    text = drawn(chain)
    assert text.count("</script>") == 2
    assert "<img" not in text
    assert evil in nodes_in(text)


def test_secrets_in_configurations_are_masked_and_placeholders_stay():
    settings = {"pwd": "hunter2", "user": "ann", "login": {"accessToken": "abc"}, "password": "${global.key}"}
    assert shown_settings(Safe, settings) == {
        "pwd": "****",
        "user": "ann",
        "login": {"accessToken": "****"},
        "password": "${global.key}",
    }
    assert shown_settings(None, {"token": "abc", "list": [{"apiKey": "x"}], "n": 1}) == {
        "token": "****",
        "list": [{"apiKey": "****"}],
        "n": 1,
    }


def test_headers_that_log_in_somewhere_are_masked():
    headers = {"Authorization": "Bearer hunter22", "Cookie": "${metadata.cookie}", "Accept": "text/plain"}
    shown = shown_settings(Registry().find("t/safe"), {"login": {"headers": headers}, "user": "ada"})
    assert shown == {"login": {"headers": headers | {"Authorization": "****"}}, "user": "ada"}


@pytest.mark.parametrize("name", ["out.html", "out.svg", "out.mmd"])
def test_no_picture_shows_a_secret_of_the_chain_wherever_it_stands(tmp_path, monkeypatch, name):
    monkeypatch.setenv("CATENARY_SECRET_KEY", "a key")
    sealed = encrypt("swordfish", "a key")
    configuration = {"password": "hunter22", "user": "has swordfish", "login": {"accessToken": "${secrets.deep}"}}
    nodes = [
        {"id": "a", "type": "exprTransform", "name": "say swordfish", "configuration": {"expr": "'hunter' + '22'"}},
        {"id": "b", "type": "t/safe", "name": "hunter22", "configuration": configuration},
    ]
    head = {"id": "c", "name": "Plain tulip", "configuration": {"secrets": {"deep": sealed, "plain": "tulip"}}}
    chain = {"ruleChain": head, "metadata": {"nodes": nodes, "connections": []}}
    with Engine() as engine:  # which knows none of the secrets
        inner = engine.load({"ruleChain": {"id": "c"}, "metadata": {"nodes": [nodes[0]]}})
        recorder = MemoryRecorder()
        inner.run_sync("swordfish, tulip", recorder=recorder)
    (tmp_path / "chain.json").write_text(json.dumps(chain))
    (tmp_path / "run.json").write_text(json.dumps(recorder.records[0].to_dict()))
    options = ["chain.json", "-o", name, "--run", "run.json"]
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(main, ["draw", *options])
    assert result.exit_code == 0, result.output
    text = (tmp_path / name).read_text()
    assert "****" in text
    assert [secret for secret in ("swordfish", "hunter22", "tulip") if secret in text] == []


def test_the_page_of_a_run_has_the_last_visits_of_each_node():
    recorder = MemoryRecorder()
    with Engine() as engine:
        engine.load(CHAIN).run_sync(Message({"t": 2}), recorder=recorder)
    nodes = nodes_in(drawn(record=recorder.records[0]))
    assert len(nodes["one"]["visits"]) == 3
    assert nodes["bad"]["error"]
    assert 'in: {"t":2}' in nodes["big"]["visits"][0]["text"]
    assert "visits" not in nodes["small"]


def test_every_colour_of_the_picture_changes_where_the_ground_is_dark():
    text = drawn()
    dark = text[text.rindex("@media (prefers-color-scheme: dark)") : text.index("</style>")]
    picture = text[text.index("<svg") : text.index("</svg>")]
    used = set(re.findall(r'((?:fill|stroke)="#[0-9a-f]{6}")', picture))
    assert used
    assert [part for part in used if f"svg [{part}] {{" not in dark] == []


PROBE = f"<script>{Path(__file__).with_name('probe.js').read_text()}</script>"


@pytest.mark.skipif(BROWSER is None, reason="needs chromium: apt-get install chromium")
@pytest.mark.timeout(60)
def test_a_browser_moves_zooms_finds_and_shows_nodes(tmp_path):
    file = tmp_path / "page.html"
    file.write_text(drawn().replace("</body>", f"{PROBE}</body>"), encoding="utf-8")
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
    command = [str(BROWSER), *flags, f"--user-data-dir={tmp_path}/profile", "--dump-dom", file.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=50, check=True)
    told = json.loads(html.unescape(re.search(r'<pre id="told">(.*?)</pre>', done.stdout, re.DOTALL)[1]))
    assert told["bigger"] != told["fitted"]
    assert told["moved"] != told["bigger"]
    assert told["back"] == told["fitted"]
    assert told["wheeled"] != told["fitted"]
    assert told["dragged"] != told["fitted"]
    assert scale(told["dragged"]) == scale(told["fitted"])
    assert scale(told["pinched"]) == pytest.approx(2 * scale(told["fitted"]), rel=0.01)
    assert told["hidden"]
    assert "exprFilter" in told["hovered"]
    assert "msg.t > 1" in told["hovered"]
    assert told["left"]
    assert not told["covers_big"]
    assert not told["covers_bad"]
    assert told["pinned"]
    assert told["closed"]
    assert (told["first"], told["named"], told["focusable"]) == ("1 of 2", "bad", 5)


def scale(transform):
    return float(re.search(r"scale\(([\d.]+)\)", transform)[1])
