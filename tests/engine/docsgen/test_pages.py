"""Single pages of the reference."""

from __future__ import annotations

from typing import Literal

import pytest

from catenary import CatenaryError, Template
from catenary.component import Component, Config, Example, option, register, registered
from catenary.docsgen.commands import command_pages
from catenary.docsgen.components import component_pages
from catenary.docsgen.errors import error_pages
from catenary.docsgen.events import event_page
from catenary.docsgen.functions import function_page
from catenary.docsgen.markdown import file_name, of_docstring, table
from catenary.expr import FUNCTIONS
from catenary.load import CODES
from catenary.registry import Registry
from catenary.relation import FAILURE, SUCCESS


class InnerConfig(Config):
    """Settings inside settings."""

    name: str = option(help="A name.")


class SampleConfig(Config):
    """Settings of the sample."""

    wait: int = option(5, ge=1, unit="seconds", help="How long | at most.", also=["pause"])
    text: Template = option(help="What is said.", examples=["${msg.a}"])
    mode: Literal["fast", "slow"] = option("fast", help="How.")
    key: str = option("", help="The key.", secret=True)
    inner: list[InnerConfig] = option([], help="More.")


@pytest.fixture
def sample_page() -> str:
    @register("test/sample", category="test", since="0.1", aliases=["test/other"])
    class Sample(Component[SampleConfig]):
        """Do something with a message.

        More about it.
        """

        relations = (SUCCESS, FAILURE)
        examples = (Example("it works", config={"text": "hi"}, inputs=[{"a": 1}], leaves_by=["Success"], data=["hi"]),)

        def run(self, ctx: object, msg: object) -> str:
            return "Success"

    try:
        return component_pages(Registry())["test-sample.md"]
    finally:
        del registered["test/sample"], registered["test/other"]


def test_a_component_page_says_what_its_class_says(sample_page: str) -> None:
    assert "# `test/sample`\n" in sample_page
    assert "Category `test`, since 0.1, also called `test/other`." in sample_page
    assert "Do something with a message.\n\nMore about it." in sample_page
    assert "| `Success` | The work is done. |" in sample_page


def test_options_have_unit_default_and_other_names(sample_page: str) -> None:
    assert "| `wait`, also `pause` | int, seconds | `5` | How long \\| at most. |" in sample_page
    assert '| `text` | string | required | What is said. For example `"${msg.a}"`. |' in sample_page
    assert '| `mode` | `"fast"` or `"slow"` | `"fast"` | How. |' in sample_page
    assert "Secret: masked wherever settings are shown." in sample_page
    assert "| `inner[].name` | string | required | A name. |" in sample_page


def test_examples_show_the_node_and_what_it_does(sample_page: str) -> None:
    assert "It works:\n\n```json\n" in sample_page
    assert '| `{"a": 1}` | `Success` | `hi` |' in sample_page


def test_every_code_has_a_page_with_cause_and_cure() -> None:
    pages = error_pages()

    def all_classes(kind: type[CatenaryError]) -> list[type[CatenaryError]]:
        return [kind, *(below for sub in kind.__subclasses__() for below in all_classes(sub))]

    own = [kind.code for kind in all_classes(CatenaryError) if kind.__module__ == "catenary.errors"]
    for name in {*CODES, *own}:
        text = pages[file_name(name)]
        assert text.count("**Usual cause.**") == 1, name
        assert text.count("**Cure.**") == 1, name


def test_every_event_is_listed_once() -> None:
    page = event_page()

    for name in ("run.start", "node.start", "node.emit", "node.end", "branch.end", "run.complete", "run.pause"):
        assert page.count(f"| `{name}` |") == 1


def test_every_function_is_listed_with_its_arguments() -> None:
    page = function_page()

    assert all(f"| `{name}(" in page for name in [*FUNCTIONS, "include", "fileExists"])
    assert "`trim(text, characters?)`" in page


def test_every_command_has_a_page_with_its_options() -> None:
    pages = command_pages()

    assert {"run.md", "check.md", "components.md", "schema.md", "draw.md", "docs-build.md", "demo.md"} <= pages.keys()
    assert "--timeout" in pages["run.md"]
    assert "`-h, --help`" in pages["draw.md"]


def test_sections_of_a_docstring_become_lists() -> None:
    def documented() -> None:
        """Do it.

        Args:
            one: The first,
                on two lines.
            two: The second.

        Raises:
            ValueError: When not.
        """

    text = of_docstring(documented)
    assert "**Args**\n\n- `one`: The first,\n  on two lines.\n- `two`: The second.\n" in text
    assert text.endswith("**Raises**\n\n- `ValueError`: When not.")


def test_a_table_without_rows_is_nothing() -> None:
    assert table(("A",), []) == ""
