"""What models cost."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest
import yaml

from catenary_components.ai.messages import Usage
from catenary_components.ai.models.prices import OWN_FILE, PriceFileError, Prices


def written(folder: Path, text: str) -> Prices:
    file = folder / "prices.yaml"
    file.write_text(text)
    return Prices.of(file)


def test_known_models_have_a_price_by_their_name() -> None:
    assert Prices.of(None).find("openai:gpt-4o-mini-2024-07-18") == Prices.of(None).find("gpt-4o-mini")
    assert Prices.of(None).find("gpt-4o-mini") != Prices.of(None).find("gpt-4o")


def test_local_models_cost_nothing_and_unknown_ones_have_no_price() -> None:
    price = Prices.of(None).find("ollama:qwen3:8b")
    assert price is not None
    assert price.of(Usage(1000, 1000, 2000)) == 0
    assert Prices.of(None).find("somebody:else") is None


def test_tokens_are_counted_at_the_price_of_their_kind(tmp_path: Path) -> None:
    prices = written(tmp_path, "models: {'m*': {input: 10, output: 20, cached: 1, cacheWrite: 12}}")
    price = prices.find("m1")
    assert price is not None
    assert price.of(Usage(prompt=1_000_000, completion=100_000, cached=400_000, cache_written=100_000)) == 8.6


def test_long_requests_may_have_a_price_of_their_own(tmp_path: Path) -> None:
    longer = "{than: 100, input: 30, output: 40, cached: 3}"
    price = written(tmp_path, f"models: {{m: {{input: 10, output: 20, cached: 1, longer: {longer}}}}}").find("m")
    assert price is not None
    assert price.of(Usage(prompt=100, completion=10)) == pytest.approx((100 * 10 + 10 * 20) / 1e6)
    assert price.of(Usage(prompt=101, completion=10, cached=1)) == pytest.approx((100 * 30 + 3 + 10 * 40) / 1e6)


@pytest.mark.parametrize(
    ("model", "output"),
    [
        ("anthropic:claude-opus-4-5-20251101", 25),
        ("anthropic:claude-opus-4-8", 25),
        ("claude-opus-4-1-20250805", 75),
        ("claude-sonnet-4-20250514", 15),
        ("claude-sonnet-5", 10),
        ("gpt-5", 10),
        ("gpt-5.2-2025-12-11", 14),
        ("gemini:gemini-3.1-pro-preview", 12),
        ("minimax:MiniMax-M2.1", 1.2),
    ],
)
def test_models_of_one_family_have_each_its_own_price(model: str, output: float) -> None:
    price = Prices.of(None).find(model)
    assert price is not None
    assert price.output == output


@pytest.mark.parametrize("model", ["gpt-5.9", "claude-opus-9", "gpt-4o-audio", "deepseek:deepseek-chat"])
def test_a_new_model_has_no_price_rather_than_that_of_its_family(model: str) -> None:
    assert Prices.of(None).find(model) is None


def test_the_prices_tell_of_which_day_they_are() -> None:
    content = yaml.safe_load(OWN_FILE.read_text(encoding="utf-8"))
    assert isinstance(content["asOf"], date)


def test_a_users_file_counts_before_what_is_known(tmp_path: Path) -> None:
    price = written(tmp_path, "models: {gpt-4o-mini: {input: 1, output: 2}}").find("openai:gpt-4o-mini")
    assert price is not None
    assert (price.input, price.output, price.cached) == (1, 2, 1)


def test_a_file_that_was_changed_is_read_again(tmp_path: Path) -> None:
    import os

    assert written(tmp_path, "models: {z1: {input: 1, output: 2}}").find("z1") is not None
    file = tmp_path / "prices.yaml"
    file.write_text("models: {z2: {input: 1, output: 2}}")
    os.utime(file, ns=(1, 1))
    assert Prices.of(file).find("z1") is None


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("models: {m: {input: 1}}", "input and output are required"),
        ("models: {m: {input: -1, output: 2}}", "the price of 'm'"),
        ("models: {m: {input: 1, output: 2, cashed: 3}}", "the price of 'm'"),
        ("models: {m: {input: 1, output: 2, longer: {input: 1, output: 2}}}", "must have `than`"),
        ("models: {m: {input: 1, output: 2, longer: {than: 5, input: 1}}}", "the price of 'm'"),
        ("prices: {}", "must have `models`"),
        ("models: {", "cannot be read"),
    ],
)
def test_what_is_wrong_in_a_file_is_told(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(PriceFileError, match=told):
        written(tmp_path, text)


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(PriceFileError, match="there is no file of prices"):
        Prices.of(tmp_path / "none.yaml")


def test_known_models_have_a_window_and_others_have_none() -> None:
    prices = Prices.of(None)
    assert prices.window("openai:gpt-4o-2024-08-06") == 128_000
    assert prices.window("anthropic:claude-sonnet-4-5") == 200_000
    assert prices.window("ollama:qwen3:8b") == prices.window("somebody:else") == 0


def test_a_file_may_have_windows_and_no_price(tmp_path: Path) -> None:
    prices = written(tmp_path, "windows: {'ollama:qwen3*': 32768, gpt-4o: 5}")
    assert prices.window("ollama:qwen3:8b") == 32_768
    assert prices.window("openai:gpt-4o-2024-08-06") == 128_000  # a pattern that fits goes before one without the date
    assert prices.find("ollama:qwen3:8b") is not None  # what is known besides counts as before


@pytest.mark.parametrize("window", ["-1", "many", "true", "1.5"])
def test_a_window_is_a_number_of_tokens(tmp_path: Path, window: str) -> None:
    with pytest.raises(PriceFileError, match="the window of 'm'"):
        written(tmp_path, f"windows: {{m: {window}}}")
