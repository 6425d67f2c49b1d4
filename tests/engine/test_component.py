"""What a component author writes against."""

from __future__ import annotations

from typing import Generic, TypeVar

import pytest

from catenary import Component, Config, option, register
from catenary.component import info_of

ConfigT = TypeVar("ConfigT", bound=Config)


class OwnConfig(Config):
    """Settings."""

    max_size: int = option(1, ge=1, help="How many.", unit="messages", also=["size"], examples=[3], secret=True)


class Own(Component[OwnConfig]):
    """A component."""


class Inherits(Own):
    """One that inherits its settings."""


class Open(Component[ConfigT], Generic[ConfigT]):
    """One that leaves its settings open."""


class Bare(Component):
    """One without settings."""


def test_config_type_is_found():
    assert Own.config_type() is OwnConfig
    assert Inherits.config_type() is OwnConfig
    assert Open.config_type() is Config
    assert Bare.config_type() is Config


def test_options_carry_what_forms_need():
    schema = OwnConfig.model_json_schema()["properties"]["maxSize"]
    assert schema["description"] == "How many."
    assert schema["minimum"] == 1
    assert (schema["x-unit"], schema["x-also"], schema["x-secret"]) == ("messages", ["size"], True)
    assert "x-label" not in schema
    assert OwnConfig(maxSize=2).max_size == OwnConfig(max_size=2).max_size == 2


def test_type_names_are_taken_once():
    @register("t/once", category="test", aliases=["t/einmal"], since="0.1", label="Once")
    class Once(Component[Config]):
        pass

    assert info_of(Once).aliases == ("t/einmal",)
    for name in ("t/once", "t/einmal"):
        with pytest.raises(ValueError, match=f"the component already exists. componentType={name}"):
            register(name, category="test")(Own)
    register("t/once", category="test")(Once)


def test_component_that_is_not_registered_says_so():
    with pytest.raises(ValueError, match="Inherits is not registered"):
        info_of(Inherits)


def test_open_and_close_do_nothing_unless_told():
    component = Own(OwnConfig())
    assert component.open(None) is None
    assert component.close() is None
    assert component.config.max_size == 1


def test_secret_options_are_masked_in_the_text_form_of_settings():
    class Login(Config):
        name: str = option("", help="Who.")
        password: str = option("", help="The secret.", secret=True)

    assert repr(Login(name="ann", password="hidden")) == "Login(name='ann', password='****')"
    assert str(Login(name="ann", password="hidden")) == "name='ann' password='****'"
    assert repr(Login()) == "Login(name='', password='')"
