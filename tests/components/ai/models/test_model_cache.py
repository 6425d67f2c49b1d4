"""Models by name and additional fields, and how many are kept."""

from __future__ import annotations

from typing import Any

from catenary_components.ai.models.model_cache import ModelCache


def models() -> tuple[ModelCache, list[tuple[str, Any]]]:
    made: list[tuple[str, Any]] = []

    def make(name: str, parameters: Any) -> Any:
        made.append((name, parameters))
        return object()

    return ModelCache(make, {"a": {"b": 1}}), made


def test_a_model_is_made_once() -> None:
    kept, made = models()
    assert kept.get("m", {"x": 1, "y": 2}) is kept.get("m", {"y": 2, "x": 1})
    assert len(made) == 1


def test_fields_are_laid_over_those_of_the_node() -> None:
    kept, made = models()
    kept.get("m", {"a.c": 2})
    assert made == [("m", {"a": {"b": 1, "c": 2}})]


def test_the_32_used_last_are_kept() -> None:
    kept, made = models()
    for number in range(32):
        kept.get(f"m{number}", {})
    kept.get("m0", {})
    kept.get("one more", {})
    assert len(kept) == 32
    kept.get("m0", {})
    kept.get("m1", {})
    assert [name for name, _ in made[32:]] == ["one more", "m1"]
