"""Models named with their provider: where they are, whose key they want."""

from __future__ import annotations

import pytest

from catenary import ChainInvalid, Engine
from catenary_components.ai.models.key import ApiKey
from catenary_components.ai.models.registry import (
    ModelSpec,
    Provider,
    provider_names,
    register_models,
    register_provider,
    resolve,
)

PROVIDERS = ("OPENAI", "ANTHROPIC", "GEMINI", "DASHSCOPE", "SILICONFLOW", "DEEPSEEK", "GLM", "KIMI", "MINIMAX")
KEYS = {f"{provider}_API_KEY": "k-1234567890" for provider in PROVIDERS}


@pytest.mark.parametrize(
    ("model", "url", "wire"),
    [
        ("openai:gpt-4o", "https://api.openai.com/v1", "openai"),
        ("anthropic:claude-x", "https://api.anthropic.com/v1", "anthropic"),
        ("gemini:gemini-x", "https://generativelanguage.googleapis.com/v1beta/openai", "openai"),
        ("dashscope:qwen-x", "https://dashscope.aliyuncs.com/compatible-mode/v1", "openai"),
        ("bailian:qwen-x", "https://dashscope.aliyuncs.com/compatible-mode/v1", "openai"),
        ("siliconflow:x", "https://api.siliconflow.cn/v1", "openai"),
        ("deepseek:deepseek-chat", "https://api.deepseek.com/v1", "openai"),
        ("glm:glm-5", "https://open.bigmodel.cn/api/paas/v4", "openai"),
        ("kimi:kimi-k3", "https://api.moonshot.cn/v1", "openai"),
        ("minimax:MiniMax-M3", "https://api.minimaxi.com/v1", "openai"),
        ("ollama:qwen3:8b", "http://localhost:11434/v1", "openai"),
        ("vllm:x", "http://localhost:8000/v1", "openai"),
        ("llamacpp:x", "http://localhost:8080/v1", "openai"),
        ("mock:script", "mock://script", "openai"),
    ],
)
def test_each_provider_is_found_at_its_address(model: str, url: str, wire: str) -> None:
    spec = resolve(model, KEYS)
    assert (spec.url, spec.profile.wire, spec.name) == (url, wire, model.partition(":")[2])
    assert spec.id == model


def test_the_key_comes_from_the_variable_of_the_provider() -> None:
    assert resolve("openai:x", {"OPENAI_API_KEY": " sk-1 "}).key == ApiKey("sk-1")
    assert resolve("gemini:x", {"GOOGLE_API_KEY": "g"}).key == ApiKey("g")
    assert resolve("kimi:x", {"MOONSHOT_API_KEY": "m", "KIMI_API_KEY": "k"}).key == ApiKey("m")
    assert resolve("glm:x", {"ZHIPUAI_API_KEY": "z"}).key == ApiKey("z")
    assert resolve("openai:x", {"OPENAI_API_KEY": "sk-1"}, key=ApiKey("given")).key == ApiKey("given")


def test_a_missing_key_names_the_variable() -> None:
    with pytest.raises(ValueError, match="set the environment variable GEMINI_API_KEY or GOOGLE_API_KEY"):
        resolve("gemini:x", {})


@pytest.mark.parametrize("provider", ["ollama", "vllm", "llamacpp", "mock"])
def test_local_models_need_no_key(provider: str) -> None:
    assert not resolve(f"{provider}:x", {}).key


@pytest.mark.parametrize("base", ["http://box:11434", "http://box:11434/", "http://box:11434/v1"])
def test_an_address_without_a_path_gets_that_of_the_provider(base: str) -> None:
    assert resolve("ollama:x", {"OLLAMA_BASE_URL": base}).url == "http://box:11434/v1"


def test_an_address_beside_the_provider_counts_in_place_of_its_own() -> None:
    spec = resolve("anthropic:claude-x", KEYS, url="https://proxy.example/anthropic")
    assert (spec.url, spec.profile.wire) == ("https://proxy.example/anthropic", "anthropic")


def test_a_colon_behind_anything_else_belongs_to_the_name() -> None:
    spec = resolve("qwen2.5:7b", {}, url="http://box/v1")
    assert (spec.name, spec.provider, spec.url) == ("qwen2.5:7b", "", "http://box/v1")


def test_a_name_that_begins_with_qwen_is_one_of_dashscope() -> None:
    assert resolve("qwen-max", KEYS).id == "dashscope:qwen-max"


def test_an_unknown_provider_is_told_with_those_there_are() -> None:
    with pytest.raises(ValueError, match=r"'opnai' in 'opnai:gpt' is no provider; there are: anthropic, bailian, "):
        resolve("opnai:gpt", {})
    with pytest.raises(ValueError, match=r"Did you mean 'openai:gpt'\?$"):
        resolve("opnai:gpt", {})
    node = {"id": "a", "type": "ai/agent", "configuration": {"model": "qwen3:8b"}}
    with Engine() as engine, pytest.raises(ChainInvalid, match=r"'qwen3' in 'qwen3:8b' is no provider; there are: "):
        engine.load({"ruleChain": {"id": "c"}, "metadata": {"nodes": [node]}})


def test_a_name_alone_needs_an_address() -> None:
    with pytest.raises(ValueError, match="URL is missing"):
        resolve("gpt-4o", KEYS)


def test_a_known_host_is_spoken_to_as_its_provider_wants_it() -> None:
    assert resolve("claude-x", {}, url="https://api.anthropic.com").profile.wire == "anthropic"


def test_a_provider_can_be_added() -> None:
    register_provider(Provider("testhouse", "https://models.example/v1", ("HOUSE_KEY",)))
    assert resolve("testhouse:big", {"HOUSE_KEY": "h"}).url == "https://models.example/v1"
    assert "testhouse" in provider_names()


def test_a_function_says_where_models_are_and_the_last_one_is_asked_first() -> None:
    register_models("tribe-.*", lambda name: ModelSpec(name, "https://first.example", ApiKey()))
    register_models("tribe-[a-m].*", lambda name: ModelSpec(name, "https://second.example", ApiKey()))
    assert [resolve(name, {}).host for name in ("tribe-zulu", "tribe-alpha")] == ["first.example", "second.example"]
    with pytest.raises(ValueError, match="URL is missing"):
        resolve("my-tribe-alpha", {})
