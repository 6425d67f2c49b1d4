"""Models by name and provider, `openai:gpt-4o`: where the service is, whose key it wants, how it is spoken to."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal
from urllib.parse import urlsplit

from catenary.load.names import closest
from catenary_components.ai.models.key import ApiKey

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from catenary_components.ai.models.types import ChatModel

WireName = Literal["openai", "anthropic"]
ThinkingBack = Literal["never", "turn", "always"]


@dataclass(frozen=True, slots=True)
class Profile:
    """How a service differs from others that speak the same wire format.

    Attributes:
        wire: The wire format.
        max_tokens_field: The member of a request that limits the reply.
        thinking_back: Which thoughts of a model are sent back to it: none, those since the user last spoke, or all.
        has_required_choice: Whether it understands that a tool must be called; else it is left to the model.
        names_results: Whether the result of a tool goes with the tool's name.
        has_schemas: Whether it can be told the JSON Schema that an answer is to fit.
        sees: Whether pictures are sent to it.
        has_choice: Whether it can be told which tool to call, or none; else tools are offered, or left out.
        names_speakers: Whether messages go with the name of who says them.
        has_stream_options: Whether a stream is asked for its tokens; else they come by themselves.
        thinks_in_tags: Whether thoughts that are sent back stand in the text, between tags.
    """

    wire: WireName = "openai"
    max_tokens_field: str = "max_completion_tokens"
    thinking_back: ThinkingBack = "never"
    has_required_choice: bool = True
    names_results: bool = False
    has_schemas: bool = True
    sees: bool = True
    has_choice: bool = True
    names_speakers: bool = True
    has_stream_options: bool = True
    thinks_in_tags: bool = False


PLAIN: Final = Profile()
"""The profile of a service of which nothing is known."""


@dataclass(frozen=True, slots=True)
class Provider:
    """A service of models, or a program that serves them.

    Attributes:
        name: What stands before the colon.
        url: Its base address.
        key_variables: Environment variables that may have the key; the first one that is set counts.
        url_variables: Environment variables that may have another address.
        needs_key: Whether it answers nobody without a key.
        profile: How it is spoken to.
    """

    name: str
    url: str
    key_variables: tuple[str, ...] = ()
    url_variables: tuple[str, ...] = ()
    needs_key: bool = True
    profile: Profile = PLAIN


_LIMIT: Final = "max_tokens"
_LOCAL: Final = Profile(max_tokens_field=_LIMIT)
_DASHSCOPE: Final = Provider(
    "dashscope",
    "https://dashscope.aliyuncs.com/compatible-mode/v1",
    ("DASHSCOPE_API_KEY",),
    ("DASHSCOPE_BASE_URL",),
    profile=Profile(max_tokens_field=_LIMIT, has_required_choice=False, names_results=True),
)

_providers: dict[str, Provider] = {
    provider.name: provider
    for provider in (
        Provider("openai", "https://api.openai.com/v1", ("OPENAI_API_KEY",), ("OPENAI_BASE_URL",)),
        Provider(
            "anthropic",
            "https://api.anthropic.com/v1",
            ("ANTHROPIC_API_KEY",),
            ("ANTHROPIC_BASE_URL",),
            profile=Profile("anthropic", _LIMIT, "always", has_schemas=False),
        ),
        Provider(
            "gemini",
            "https://generativelanguage.googleapis.com/v1beta/openai",
            ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
            ("GEMINI_BASE_URL",),
        ),
        _DASHSCOPE,
        replace(_DASHSCOPE, name="bailian"),
        Provider(
            "siliconflow",
            "https://api.siliconflow.cn/v1",
            ("SILICONFLOW_API_KEY",),
            ("SILICONFLOW_BASE_URL",),
            profile=Profile(max_tokens_field=_LIMIT),
        ),
        Provider(
            "deepseek",
            "https://api.deepseek.com/v1",
            ("DEEPSEEK_API_KEY",),
            ("DEEPSEEK_BASE_URL",),
            profile=Profile(max_tokens_field=_LIMIT, thinking_back="turn", has_schemas=False),
        ),
        Provider(
            "glm",
            "https://open.bigmodel.cn/api/paas/v4",
            ("ZAI_API_KEY", "GLM_API_KEY", "ZHIPUAI_API_KEY"),
            ("GLM_BASE_URL",),
            profile=Profile(
                max_tokens_field=_LIMIT,
                has_schemas=False,
                has_choice=False,
                names_speakers=False,
                has_stream_options=False,
            ),
        ),
        Provider(
            "kimi",
            "https://api.moonshot.cn/v1",
            ("MOONSHOT_API_KEY", "KIMI_API_KEY"),
            ("MOONSHOT_BASE_URL", "KIMI_BASE_URL"),
            profile=Profile(thinking_back="always", has_required_choice=False),
        ),
        Provider(
            "minimax",
            "https://api.minimaxi.com/v1",
            ("MINIMAX_API_KEY",),
            ("MINIMAX_BASE_URL",),
            profile=Profile(thinking_back="always", has_required_choice=False, has_schemas=False, thinks_in_tags=True),
        ),
        Provider(
            "ollama",
            "http://localhost:11434/v1",
            ("OLLAMA_API_KEY",),
            ("OLLAMA_BASE_URL",),
            needs_key=False,
            profile=replace(_LOCAL, has_required_choice=False, names_results=True),
        ),
        Provider(
            "vllm", "http://localhost:8000/v1", ("VLLM_API_KEY",), ("VLLM_BASE_URL",), needs_key=False, profile=_LOCAL
        ),
        Provider(
            "llamacpp",
            "http://localhost:8080/v1",
            ("LLAMACPP_API_KEY",),
            ("LLAMACPP_BASE_URL",),
            needs_key=False,
            profile=_LOCAL,
        ),
        Provider("mock", "mock://", needs_key=False),
    )
}


_instances: dict[str, ChatModel] = {}
_makers: list[tuple[re.Pattern[str], Callable[[str], ModelSpec]]] = []


def register_provider(provider: Provider) -> None:
    """Let models be named with another provider, in place of one of that name."""
    _providers[provider.name] = provider


def register_model(name: str, model: ChatModel | None) -> None:
    """Let a model of the program's own be named, before anything else that may have the name; `None` takes it away.

    It is asked again after errors, and replaced by others, like any other model; no address and no key are needed.
    """
    if model is None:
        _instances.pop(name, None)
    else:
        _instances[name] = model


def register_models(pattern: str, make: Callable[[str], ModelSpec]) -> None:
    """Let a function say where models are, before any provider is asked; the one that came last is asked first.

    Args:
        pattern: A regular expression for the whole name.
        make: Gives where the model of a name is.
    """
    _makers.insert(0, (re.compile(pattern), make))


def is_known(model: str) -> bool:
    """Tell whether it can be said where a model is without an address."""
    return model in _instances or split(model)[0] is not None or _maker_of(model) is not None


def _maker_of(model: str) -> Callable[[str], ModelSpec] | None:
    return next((make for pattern, make in _makers if pattern.fullmatch(model)), None)


def provider_names() -> list[str]:
    """Give the names of all providers, in alphabetical order."""
    return sorted(_providers)


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """Where a model is and how it is spoken to.

    Attributes:
        name: The model's name, as its service knows it; empty for the one that the service has.
        url: The base address of the service.
        key: Its key.
        profile: How it is spoken to.
        provider: The provider's name; empty when only an address is known.
        instance: The model itself, where the program has it.
    """

    name: str
    url: str
    key: ApiKey
    profile: Profile = PLAIN
    provider: str = ""
    instance: ChatModel | None = None

    @property
    def id(self) -> str:
        """The name with the provider, if one is known."""
        return f"{self.provider}:{self.name}" if self.provider else self.name

    @property
    def host(self) -> str:
        """The host, and the port if the address names one: all of an address that may be shown."""
        return host_of(self.url)


def host_of(url: str) -> str:
    """Give the host of an address, and the port if it names one."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    return f"{host}:{parts.port}" if parts.port else host


def split(model: str) -> tuple[Provider | None, str]:
    """Take the provider off the name of a model; a colon behind anything else belongs to the name."""
    prefix, colon, name = model.partition(":")
    provider = _providers.get(prefix.lower()) if colon else None
    if provider is not None:
        return provider, name.strip()
    return (_DASHSCOPE if model.lower().startswith("qwen") and not colon else None), model


def resolve(
    model: str,
    variables: Mapping[str, str],
    *,
    url: str = "",
    key: ApiKey | None = None,
    is_offline: bool = False,
) -> ModelSpec:
    """Give where a model is.

    Args:
        model: `provider:name`; a name alone needs `url`, but for `qwen...`, which is one of DashScope.
        variables: The environment variables.
        url: The service's address, in place of the provider's own.
        key: The key, in place of the one in the environment.
        is_offline: True when nothing is really called, so that no key is needed.

    Raises:
        ValueError: When it cannot be told where the model is, or a key is missing; the text says what to do.
    """
    if model in _instances and not url:
        return ModelSpec(model, "", ApiKey(), instance=_instances[model])
    make = None if url else _maker_of(model)
    if make is not None:
        return make(model)
    provider, name = split(model)
    if url and (provider is None or ":" not in model):
        return ModelSpec(model, url, key or ApiKey(), _profile_of(url))
    if provider is None:
        raise ValueError(where_is(model))
    if provider.name == "mock":
        return ModelSpec(name, f"mock://{name}", key or ApiKey(), provider.profile, "mock")
    address = url or _first(variables, provider.url_variables) or provider.url
    if not urlsplit(address).path.strip("/") and not address.startswith("mock:"):
        address = address.rstrip("/") + urlsplit(provider.url).path
    secret = key or ApiKey(_first(variables, provider.key_variables))
    if provider.needs_key and not secret and not is_offline and not address.startswith("mock:"):
        named = " or ".join(provider.key_variables)
        raise ValueError(f"the model {model!r} needs a key: set the environment variable {named}, or give `key`")
    if not name:
        raise ValueError(f"{model!r} names no model: write {provider.name}:NAME")
    return ModelSpec(name, address, secret, provider.profile, provider.name)


def where_is(model: str) -> str:
    """Give what to tell of a model of which nobody knows where it is."""
    known = ", ".join(provider_names())
    prefix, colon, name = model.partition(":")
    if colon:
        guess = closest(prefix, provider_names())
        return (
            f"URL is missing: {prefix!r} in {model!r} is no provider; there are: {known}. Or give the address of the "
            "service as `url`" + (f". Did you mean '{guess}:{name}'?" if guess else "")
        )
    return (
        f"URL is missing: give the base address of an OpenAI-compatible service, or the model with its provider, as "
        f"in openai:{model or 'gpt-4o'}; providers: {known}"
    )


def _first(variables: Mapping[str, str], names: tuple[str, ...]) -> str:
    return next((variables[name].strip() for name in names if variables.get(name, "").strip()), "")


def _profile_of(url: str) -> Profile:
    """Give the profile of the provider that has this address; the plain one for all others."""
    host = urlsplit(url).hostname
    if host in (None, "localhost") or url.startswith("mock:"):
        return PLAIN
    return next((one.profile for one in _providers.values() if urlsplit(one.url).hostname == host), PLAIN)
