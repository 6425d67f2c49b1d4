"""The order mail: documents in files, from the command line and against a scripted model."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from catenary import Engine, Message
from catenary.cli import main
from catenary.testing import ScriptedModel, serve

FOLDER = Path(__file__).parents[2] / "chains"
FILE = FOLDER / "order-mail.yaml"
MAIL = """\
Dear Ann,

thank you for your order:

1. 200 x bolt M6: 24.00 EUR
2. 200 x nut M6: 10.00 EUR
3. 1 x wrench: 14.90 EUR

Total: 48.90 EUR

Bolts & Nuts
"""


def test_the_command_line_writes_the_mail_without_a_model() -> None:
    result = CliRunner().invoke(main, ["run", str(FILE), "-f", str(FILE.with_suffix(".input.json"))])
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.rstrip("\n") == MAIL.rstrip("\n")


def test_what_a_model_would_be_asked_is_shown() -> None:
    arguments = ["render", str(FILE), "polish", "-d", "Dear Ann", "--data-type", "TEXT", "-m", "language=German"]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0
    assert "You write the mails of Bolts & Nuts" in result.stdout
    assert "Write it in German." in result.stdout
    assert "content: Dear Ann" in result.stdout


@pytest.fixture
def chain(tmp_path: Path) -> Path:
    shutil.copytree(FOLDER / "documents", tmp_path / "documents")
    return Path(shutil.copy(FILE, tmp_path))


def point_at(url: str, chain: Path) -> None:
    chain.write_text(chain.read_text().replace("http://127.0.0.1:8080", url))


async def test_a_model_gets_the_prompt_and_edits_of_both_files_apply_to_the_next_order(chain: Path) -> None:
    model = ScriptedModel(["Hello Ann.", "Hi Ann."])
    order = Message(FILE.with_suffix(".input.json").read_text(), metadata={"polish": "true"})
    with serve(model) as server:
        point_at(server.url, chain)
        async with Engine() as engine:
            engine.load(chain)
            first = await engine.run("order-mail", order)
            (chain.parent / "documents" / "our-tone.j2").write_text("Be brief, {{ msg | length }}.")
            (chain.parent / "documents" / "order-mail.j2").write_text("Order of {{ msg.customer.name }}")
            second = await engine.run("order-mail", order)
    assert [first.message.text, second.message.text] == ["Hello Ann.", "Hi Ann."]
    one, two = model.requests
    assert (one.user_text, two.user_text) == (MAIL.rstrip("\n"), "Order of Ann")
    assert one.system_text.startswith("You write the mails of Bolts & Nuts")
    assert "Write it in" not in one.system_text
    assert two.system_text == "Be brief, 12."
