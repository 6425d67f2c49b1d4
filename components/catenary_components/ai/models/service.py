"""The models of one agent node: made by its settings, kept by name, with retries and backups around them."""

from __future__ import annotations

import logging
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlencode

from catenary.errors import ConfigError
from catenary.expr.files import locate
from catenary.http import HttpOptions, register_mock, unregister_mock
from catenary.http.cassette import Player
from catenary_components.ai.models.anthropic import AnthropicModel
from catenary_components.ai.models.failover import Circuits, FailoverModel, FallbackModel, Place
from catenary_components.ai.models.model_cache import ModelCache
from catenary_components.ai.models.openai import OpenAIModel
from catenary_components.ai.models.prices import FILE_VARIABLE, PriceFileError, Prices
from catenary_components.ai.models.registry import is_known, resolve, split
from catenary_components.ai.models.retry import RetryingModel, RetryPolicy
from catenary_components.ai.models.spoken import SpokenModel
from catenary_components.ai.trusted import is_trusted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from catenary.component import Context
    from catenary.jsontext import Json
    from catenary_components.ai.models.failover import EndpointState
    from catenary_components.ai.models.key import ApiKey
    from catenary_components.ai.models.registry import ModelSpec
    from catenary_components.ai.models.types import ChatModel, ErrorKind
    from catenary_components.ai.options.model import FailoverEndpoint, ModelOptions
    from catenary_components.ai.params import ModelParams
    from catenary_components.ai.state import SessionModel

_logger = logging.getLogger(__name__)

_MOCK: Final = "mock://"
_CASSETTES: Final = (".json", ".cassette")


class ModelNotAllowed(ValueError):  # noqa: N818 - said to whoever chose it
    """A message chose a model that the node does not allow."""


class ModelService:
    """The models of one agent node.

    Args:
        ctx: The context of the node, while it is opened.
        config: Its settings.

    Attributes:
        retries: How often a model was asked again, by the kind of the error.

    Raises:
        ConfigError: When address, key, model, a backup or the file of prices cannot be used.
    """

    def __init__(self, ctx: Context, config: ModelOptions) -> None:
        self._config = config
        self._ctx = ctx
        self._engine = ctx.chain.engine
        self._clock = ctx.clock
        self._players: dict[Path, str] = {}
        self.retries: dict[ErrorKind, int] = {}
        self._check_resolved()
        silence, first_byte = config.silence_timeout, config.first_byte_timeout
        self._http = ctx.http.client(
            HttpOptions(
                connect_timeout_s=config.connect_timeout,
                read_timeout_s=max(silence, first_byte),
                total_timeout_s=config.total_timeout or None,
                max_connections=None,  # each agent that runs has a stream of its own
                is_taped=True,
            )
        )
        self._prices = self._read_prices()
        self._circuits = Circuits(self._clock, config.circuit_cooldown_sec)
        self._primary = self._resolve(config.model, "model", url=config.url, key=config.key)
        self._backups = [self._backup(one) for one in config.failover]
        self._fallback = self._resolve(config.fallback_model, "fallbackModel") if config.fallback_model else None
        self._models = ModelCache(self._make, config.params.body())

    @property
    def name(self) -> str:
        """The name of the node's own model."""
        return self._primary.name

    @property
    def spec(self) -> ModelSpec:
        """Where the node's own model is."""
        return self._primary

    def window(self, choice: SessionModel) -> int:
        """Give how many tokens the model of a run can read; 0 when it is not known."""
        return self._prices.window(self._spec_of(choice.name or self.name).id)

    @property
    def endpoints(self) -> list[EndpointState]:
        """How the services fare, in the order in which they are asked; empty when there is only one."""
        return self._circuits.states()

    def _count_retry(self, kind: ErrorKind) -> None:
        self.retries[kind] = self.retries.get(kind, 0) + 1

    def get(self, choice: SessionModel) -> ChatModel:
        """Give the model for a run.

        Raises:
            ModelNotAllowed: When the message chose one that the node does not allow.
            ConfigError: When it is one of a provider whose key is missing.
        """
        allowed = self._config.allowed_models
        is_own = choice.name in ("", self.name, self._primary.id)
        if allowed and not is_own and not any(fnmatchcase(choice.name, pattern) for pattern in allowed):
            raise ModelNotAllowed(f"the model {choice.name!r} is not allowed here; allowed: {', '.join(allowed)}")
        return self._models.get(choice.name or self.name, choice.extra_fields)

    def usable(self, ctx: Context, choice: SessionModel) -> SessionModel:
        """Give the choice of a message; the node's own model in its place, with a warning, when it cannot be asked.

        Raises:
            ModelNotAllowed: When the message chose one that the node does not allow.
        """
        try:
            self.get(choice)
        except ConfigError as error:
            told = {"model": choice.name, "fallback": self.name, "error": str(error)}
            _logger.warning("the model that a message chose cannot be asked", extra={"choice": told})
            ctx.notify("model.fallback", kind="unknown", **told)
            return replace(choice, name="")
        return choice

    def provider_of(self, choice: SessionModel) -> str:
        """Give whose the model for a run is, such as `openai`; empty when only an address is known."""
        provider = split(choice.name)[0] if ":" in choice.name else None
        return self._primary.provider if provider is None else provider.name

    async def close(self) -> None:
        """Close the connections."""
        for player in self._players.values():
            unregister_mock(player)
        await self._http.close()

    def _make(self, name: str, parameters: Mapping[str, Json]) -> ChatModel:
        spec = self._spec_of(name)
        model = self._retrying(spec, self._config.params, parameters)
        if self._backups:
            model = FailoverModel([self._place(spec, model), *map(self._backup_place, self._backups)])
        if self._fallback is not None:
            model = FallbackModel(model, self._retrying(self._fallback, self._config.params, parameters))
        return model

    def _place(self, spec: ModelSpec, model: ChatModel) -> Place:
        return Place(model, self._circuits.of(spec.host, spec.name))

    def _backup_place(self, backup: tuple[ModelSpec, ModelParams]) -> Place:
        spec, params = backup
        return self._place(spec, self._retrying(spec, params, params.body()))

    def _spec_of(self, name: str) -> ModelSpec:
        """Give where a model is that a message chose: the node's service, unless it names another provider."""
        if name in (self._primary.name, self._primary.id):
            return self._primary
        if is_known(name) and split(name)[0] is None:
            return self._resolve(name, "model")
        provider, bare = split(name)
        if provider is None or ":" not in name:
            return replace(self._primary, name=name)
        if provider.name == self._primary.provider and provider.name != "mock":  # whose address is its name
            return replace(self._primary, name=bare)
        return self._resolve(name, "model")

    def _client(self, spec: ModelSpec, params: ModelParams, parameters: Mapping[str, Json]) -> ChatModel:
        """Make what asks one model of one service, once."""
        config = self._config
        kind = AnthropicModel if spec.profile.wire == "anthropic" else OpenAIModel
        model: ChatModel = spec.instance or kind(
            self._http,
            spec.url,
            spec.key,
            spec.name,
            self._clock.time_ms,
            parameters,
            profile=replace(spec.profile, sees=config.vision is not False),
            price=self._prices.find(spec.id),
            headers=params.extra_headers,
            query=urlencode(params.extra_query),
            path=config.endpoint_path if spec is self._primary or spec.url == self._primary.url else "",
            first_byte_s=config.first_byte_timeout or None,
            silence_s=config.silence_timeout,
        )
        if not params.keep_think or config.read_calls_in_text:
            model = SpokenModel(model, splits_thinking=not params.keep_think, reads_calls=config.read_calls_in_text)
        return model

    def _retrying(self, spec: ModelSpec, params: ModelParams, parameters: Mapping[str, Json]) -> ChatModel:
        config = self._config
        policy = RetryPolicy(
            self._clock.sleep,
            config.max_retries,
            first_wait_s=config.retry_wait,
            longest_wait_s=config.retry_longest_wait,
            longest_retry_after_s=config.retry_after_limit,
            retries_by_kind=config.retries_by_error.by_kind(),
            count=self._count_retry,
        )
        may_go_on = policy.tries_again or self._backups or self._fallback is not None
        probe = config.stream_probe if may_go_on else 1  # nothing is gained by holding pieces back
        model = self._client(spec, params, parameters)
        return RetryingModel(model, policy, config.stream_retry_mode, probe)

    def _backup(self, entry: FailoverEndpoint) -> tuple[ModelSpec, ModelParams]:
        """Give where a backup is: what it leaves empty is that of the node, unless it names a provider of its own."""
        own = entry.model and ":" in entry.model and split(entry.model)[0] is not None
        if own and not entry.url:
            spec = self._resolve(entry.model, "failover", key=entry.key)
        else:
            model, url = entry.model or self._primary.id, entry.url or self._primary.url
            spec = self._resolve(model, "failover", url=url, key=entry.key or self._primary.key)
        return spec, entry.params or self._config.params

    def _resolve(self, model: str, field: str, *, url: str = "", key: ApiKey | None = None) -> ModelSpec:
        try:
            is_offline = self._ctx.http.is_played
            spec = resolve(model, self._engine.environ, url=url, key=key, is_offline=is_offline)
        except ValueError as error:
            raise self._refusal(str(error), field) from None
        self._engine.masker.add(spec.key.reveal())
        return self._played(spec, field)

    def _played(self, spec: ModelSpec, field: str) -> ModelSpec:
        """Give where a cassette answers when the address names one: `mock://` and a file the chain may read."""
        name = spec.url.removeprefix(_MOCK)
        if not spec.url.startswith(_MOCK) or not name.lower().endswith(_CASSETTES):
            return spec
        file = locate(name, self._ctx.chain.environment)
        if file is None:
            raise self._refusal(f"there is no cassette {name}", field)
        if file not in self._players:  # several services that were recorded together go on in one file
            self._players[file] = f"cassette-{id(self):x}-{len(self._players)}"
            register_mock(self._players[file], Player.load(file))
        return replace(spec, url=f"{_MOCK}{self._players[file]}")

    def _read_prices(self) -> Prices:
        try:
            return Prices.of(self._price_file())
        except PriceFileError as error:
            raise self._refusal(str(error), "prices") from None

    def _price_file(self) -> Path | None:
        if not self._config.prices:
            named = self._engine.environ.get(FILE_VARIABLE, "")
            return Path(named) if named else None
        if is_trusted(self._engine, self._config.prices):
            return Path(self._config.prices)
        found = locate(self._config.prices, self._ctx.chain.environment)
        if found is None:
            raise PriceFileError(f"there is no file of prices: {self._config.prices}")
        return found

    def _check_resolved(self) -> None:
        config = self._config
        missing: list[str] = []
        fields: list[str] = []
        for field, value in (("url", config.url), ("key", config.key.reveal()), ("model", config.model)):
            start = value.find("${")
            if start >= 0:
                placeholder = value[start : value.find("}", start) + 1] or value[start:]
                what = "URL is missing" if field == "url" else f"the {field} is missing"
                missing.append(f"{what}: {placeholder} is not set")
                fields.append(field)
        if missing:
            raise self._refusal("; ".join(missing), ", ".join(fields))

    def _refusal(self, text: str, field: str) -> ConfigError:
        return ConfigError(text, node_id=self._ctx.node_id, node_type=self._ctx.node_type, field=field)
