"""The functions of a Python file of the user."""

from __future__ import annotations

from pathlib import Path

import pytest

from catenary import Engine
from catenary.errors import EngineError
from catenary.life.parts import Parts
from catenary.life.programs import functions_in


def put(folder: Path, text: str, name: str = "stock.py") -> Path:
    (folder / name).write_text(text)
    return folder / name


def test_functions_written_in_a_file_are_found_and_no_others(tmp_path: Path) -> None:
    file = put(
        tmp_path,
        "from os import getcwd\ndef a(): pass\nasync def b(): pass\ndef _c(): pass\n",
    )
    assert [function.__name__ for function in functions_in(file)] == ["a", "b"]


def test_what_lies_beside_the_file_can_be_imported(tmp_path: Path) -> None:
    put(tmp_path, "SHELF = 12\n", "shelf_of_stock.py")
    file = put(tmp_path, "from shelf_of_stock import SHELF\ndef a(): return SHELF\n")
    assert [function() for function in functions_in(file)] == [12]
    assert [function() for function in functions_in(file)] == [12]


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("stock.yaml", "a: 1", r"stock\.yaml' is no Python file"),
        ("stock.py", "x = 1", r"there are no functions in '.*stock\.py'"),
        ("stock.py", "def (", r"stock\.py:1: invalid syntax"),
        ("stock.py", "\n1 / 0", r"cannot be imported: .*stock\.py:2: ZeroDivisionError: division by zero"),
        ("stock.py", "import no_such_package", "No module named 'no_such_package'"),
    ],
)
def test_a_file_without_functions_is_told(tmp_path: Path, name: str, text: str, said: str) -> None:
    with pytest.raises(EngineError, match=said):
        functions_in(put(tmp_path, text, name))


def test_tools_among_the_parts_of_a_chain_are_registered_each_file_once(tmp_path: Path) -> None:
    one = Parts(tools=(put(tmp_path, "def a(): pass\n"),))
    assert (one + one).tools == one.tools
    with Engine() as engine:
        one.load(engine)
        assert list(engine.tools) == ["a"]
