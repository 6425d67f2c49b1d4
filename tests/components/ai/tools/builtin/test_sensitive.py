"""Searches through folders leave out what a person is asked about before it is read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from catenary_components.ai.permission.dangerous import Dangers
from catenary_components.ai.permission.gate import Gate, Policy
from catenary_components.ai.setup import AgentSetup
from catenary_components.ai.tools.tool import Toolbox

if TYPE_CHECKING:
    from .conftest import Shop

NOTE = "(1 file that may hold settings or secrets left out; name one to search it)"
SENSITIVE = (".env", "d/.ENV", ".aws/credentials", ".ssh/known_hosts", "keys/id_rsa", ".vscode/x.json")


@pytest.mark.parametrize("path", SENSITIVE)
async def test_a_search_through_a_folder_shows_nothing_of_dangerous_files(shop: Shop, path: str) -> None:
    shop.write(path, "KEY=secret\n")
    shop.write("z.txt", "KEY=none\n")
    assert await shop.call("grep", pattern="KEY") == f"z.txt:1:KEY=none\n{NOTE}"
    assert await shop.call("grep", pattern="KEY", output_mode="files_with_matches") == f"z.txt\n{NOTE}"
    assert await shop.call("grep", pattern="KEY", sort_by_mtime=True) == f"z.txt:1:KEY=none\n{NOTE}"
    assert await shop.call("read", query="key") == f"z.txt:1:KEY=none\n{NOTE}"
    assert await shop.call("glob", pattern="**/*") == f"z.txt\n{NOTE}"


async def test_how_many_are_left_out_tells_nothing_of_what_is_in_them(shop: Shop) -> None:
    shop.write(".env", "KEY=secret\n")
    for pattern in ("KEY=secret", "KEY=other"):
        assert await shop.call("grep", pattern=pattern) == f"No matches for {pattern}\n{NOTE}"
        assert await shop.call("read", query=pattern) == f"No matches for {pattern}\n{NOTE}"


async def test_files_that_are_not_looked_for_are_not_counted(shop: Shop) -> None:
    shop.write(".env", "KEY=secret\n")
    shop.write("a.py", "KEY = 1\n")
    assert await shop.call("grep", pattern="KEY", include="*.py") == "a.py:1:KEY = 1"
    assert await shop.call("read", query="KEY", pattern="*.py") == "a.py:1:KEY = 1"
    assert await shop.call("glob", pattern="*.py") == "a.py"


@pytest.mark.parametrize(
    "arguments", [{"path": ".env"}, {"include": ".env"}, {"path": ".ssh"}, {"path": "./.ssh/"}, {"path": "short"}]
)
async def test_what_the_call_names_was_asked_about_and_is_searched(shop: Shop, arguments: Any) -> None:
    shop.write(".env", "KEY=1\n")
    shop.write(".ssh/config", "KEY=2\n")
    (shop.folder / "short").symlink_to(".ssh")
    assert "KEY=" in await shop.call("grep", pattern="KEY", **arguments)


@pytest.mark.parametrize("include", [".env*", "{.env,x}", "*", ".e[n]v"])
async def test_a_pattern_that_fits_a_dangerous_file_does_not_name_it(shop: Shop, include: str) -> None:
    shop.write(".env", "KEY=1\n")
    assert await shop.call("grep", pattern="KEY", include=include) == f"No matches for KEY\n{NOTE}"
    assert await shop.call("glob", pattern=include) == f"No files fit {include}\n{NOTE}"


async def test_the_lists_are_those_of_the_agent(shop: Shop) -> None:
    shop.write(".env", "KEY=1\n")
    shop.write("plans.txt", "KEY=2\n")
    shop.write("vault/a.txt", "KEY=3\n")
    gate = Gate(Policy(dangers=Dangers(["plans.txt"], ["vault"])))
    own: Any = AgentSetup(model=None, toolbox=Toolbox(), gate=gate)  # type: ignore[arg-type] - no model is called
    shop.visit.scope.set(own)
    told = await shop.call("grep", pattern="KEY")
    assert told == ".env:1:KEY=1\n(2 files that may hold settings or secrets left out; name one to search it)"
