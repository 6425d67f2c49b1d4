"""JSON that a model has written."""

from __future__ import annotations

import pytest

from catenary_components.ai.said_json import MOST_LEVELS, said_json


@pytest.mark.parametrize(("before", "behind"), [("[", "]"), ('{"a":', "}")])
def test_so_many_levels_are_read_and_one_more_is_told(before: str, behind: str) -> None:
    assert said_json(before * MOST_LEVELS + "1" + behind * MOST_LEVELS)
    with pytest.raises(ValueError, match="nested more than 200 levels deep"):
        said_json(before * (MOST_LEVELS + 1) + "1" + behind * (MOST_LEVELS + 1))


def test_many_values_beside_each_other_are_not_deep() -> None:
    assert said_json("[" + "[]," * 1_000 + "[[]]]")[-1] == [[]]
    assert said_json('"' + "[" * 1_000 + '"') == "[" * 1_000
