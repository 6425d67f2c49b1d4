"""The models that the messages of one agent node have chosen: each is made once, and the last ones are kept."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Final

from catenary.jsontext import dumps
from catenary_components.ai.models.wire import merged, nested

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from catenary.jsontext import Json
    from catenary_components.ai.models.types import ChatModel

CACHE_SIZE: Final = 32


class ModelCache:
    """Gives models by name and additional body fields, and keeps the 32 used last.

    Args:
        make: Makes a model from its name and the members of its request body.
        parameters: The members that all of them have.
    """

    def __init__(self, make: Callable[[str, Mapping[str, Json]], ChatModel], parameters: Mapping[str, Json]) -> None:
        self._make = make
        self._parameters = parameters
        self._models: OrderedDict[tuple[str, str], ChatModel] = OrderedDict()

    def __len__(self) -> int:
        return len(self._models)

    def get(self, name: str, extra_fields: Mapping[str, Json]) -> ChatModel:
        """Give the model of that name.

        Args:
            name: The model's name.
            extra_fields: Laid over the members that all models have; keys may be dotted.
        """
        key = (name, dumps(dict(extra_fields)))
        model = self._models.pop(key, None)
        if model is None:
            model = self._make(name, merged(self._parameters, nested(extra_fields)))
        self._models[key] = model
        if len(self._models) > CACHE_SIZE:
            self._models.popitem(last=False)
        return model
