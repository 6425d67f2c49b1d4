"""The registry: finding components, and importing what installed packages bring."""

from __future__ import annotations

import logging
import sys
from importlib.metadata import EntryPoint

import pytest
from tests.isolation import no_components

from catenary import registry as registry_module
from catenary.component import Component, Config, register, registered
from catenary.errors import EngineError
from catenary.registry import GROUP, Registry


class One(Component[Config]):
    """One."""


class Two(Component[Config]):
    """Two."""


@pytest.fixture(autouse=True)
def _own_components():
    with no_components():
        register("one", category="b", aliases=("uno", "eins"))(One)
        register("two", category="a")(Two)
        yield


@pytest.fixture
def packages(monkeypatch, tmp_path):
    """Make entry points whose modules are files; gives a function that adds one."""
    found: list[EntryPoint] = []
    monkeypatch.setattr(registry_module, "entry_points", lambda group: found if group == GROUP else [])
    monkeypatch.syspath_prepend(tmp_path)
    names: list[str] = []

    def add(name, source):
        (tmp_path / f"{name}.py").write_text(source, encoding="utf-8")
        found.append(EntryPoint(name, name, GROUP))
        names.append(name)

    yield add
    for name in names:
        sys.modules.pop(name, None)


PACKAGE = """
from catenary.component import Component, Config, register, registered

@register("three", category="c")
class Three(Component[Config]):
    '''Three.'''
"""


def test_component_is_found_by_type_and_alias():
    registry = Registry(discover=False)
    assert registry.get("one") is One
    assert registry.get("uno") is One
    assert registry.aliases("eins") == ("uno", "eins")


def test_unknown_type_names_one_that_is_alike():
    with pytest.raises(EngineError, match=r"component not found\. componentType=tow") as caught:
        Registry(discover=False).get("tow")
    assert caught.value.hint == "did you mean 'two'?"


def test_types_are_sorted_by_category_without_aliases():
    registry = Registry(discover=False)
    assert registry.types() == ["two", "one"]
    assert registry.types("b") == ["one"]
    assert registry.categories() == ["a", "b"]


def test_packages_are_imported_when_an_unknown_type_is_asked_for(packages):
    packages("cat_three", PACKAGE)
    registry = Registry()
    assert registry.find("one") is One
    assert "cat_three" not in sys.modules
    assert registry.find("three") is not None
    assert registry.find("four") is None


def test_packages_are_imported_when_all_types_are_asked_for(packages):
    packages("cat_three_b", PACKAGE)
    assert Registry().types() == ["two", "one", "three"]


@pytest.mark.parametrize("source", ["import no_such_module_at_all", PACKAGE.replace("three", "one"), "1 / 0"])
def test_broken_package_takes_nothing_else_away(packages, caplog, source):
    packages("cat_broken", source)
    packages("cat_three_c", PACKAGE)
    registry = Registry()
    with caplog.at_level(logging.WARNING):
        assert registry.find("three") is not None
    assert list(registry.broken) == ["cat_broken"]
    assert caplog.records[0].__dict__["package"] == "cat_broken"
    assert "'cat_broken' (cat_broken) are missing, they cannot be imported: " in caplog.text
    assert "the components of 'cat_broken' are missing" in registry.hint("four")


class Other(Component[Config]):
    """Stands in for another."""


def test_a_component_of_the_registry_wins_over_a_built_in_one():
    registry = Registry(discover=False)
    registry.register("one", category="c", aliases=["own"])(Other)
    assert registry.get("one") is registry.get("own") is Other
    assert registry.types() == ["two", "one"]
    assert Registry(discover=False).get("one") is One
    registry.unregister("one")
    assert registry.get("one") is One
    assert registry.find("own") is None


def test_a_registry_has_a_name_once():
    registry = Registry(discover=False)
    registry.register("mine", category="c")(Other)
    with pytest.raises(EngineError, match="the component already exists"):
        registry.register("more", category="c", aliases=["mine"])(type("More", (Component,), {}))


def test_a_built_in_component_is_hidden_in_one_registry_only():
    registry = Registry(discover=False)
    registry.unregister("one")
    assert registry.types() == ["two"]
    assert [registry.find(name) for name in ("one", "uno", "eins")] == [None] * 3
    assert Registry(discover=False).types() == ["two", "one"]
    with pytest.raises(EngineError, match="component not found"):
        registry.unregister("one")


def test_an_alias_is_taken_out_alone():
    registry = Registry(discover=False)
    registry.unregister("uno")
    assert registry.get("one") is registry.get("eins") is One
    assert registry.find("uno") is None
    assert registry.aliases("one") == ("eins",)


def test_aliases_need_a_component_and_a_free_name():
    registry = Registry(discover=False)
    registry.alias("one", "first", "ein")
    assert registry.get("first") is One
    assert registry.form("one")["aliases"] == ["uno", "eins", "first", "ein"]
    with pytest.raises(EngineError, match="alias conflicts with existing component: two"):
        registry.alias("one", "two")
    with pytest.raises(EngineError, match="component not found"):
        registry.alias("nope", "x")
    registry.unregister("one")
    assert registry.find("first") is None


def test_the_components_of_a_package_are_taken_out_together(packages):
    packages("acme_parts", PACKAGE)
    registry = Registry()
    assert registry.find("three") is not None
    registry.unregister("acme_parts")
    assert registry.types() == ["two", "one"]
    assert Registry().find("three") is not None


def test_forms_come_in_order_and_in_pages():
    registry = Registry(discover=False)
    registry.register("zero", category="b", order=-1)(Other)
    assert [form["type"] for form in registry.forms()] == ["two", "zero", "one"]
    assert [form["type"] for form in registry.forms(page=2, size=2)] == ["one"]
    assert [form["type"] for form in registry.forms("b", page=1, size=1)] == ["zero"]
    assert registry.forms(page=2) == registry.forms(page=9, size=2) == []
    with pytest.raises(EngineError, match="there is no page 0"):
        registry.forms(page=0)


PROMISING = """
from catenary.promised import promise

promise(__name__, {"three": "three:Three", "drei": "three:Three", "lost": "lost:Lost"})
"""


@pytest.fixture
def promising(packages, tmp_path):
    """A package that promises three names; gives the folder with its modules."""
    packages("cat_promising", PROMISING)
    folder = tmp_path / "cat_promising"
    folder.mkdir()
    (tmp_path / "cat_promising.py").rename(folder / "__init__.py")
    (folder / "three.py").write_text(PACKAGE.replace('category="c"', 'category="c", aliases=("drei",)'))
    yield folder
    for module in [name for name in sys.modules if name.startswith("cat_promising.")]:
        del sys.modules[module]


@pytest.mark.parametrize("name", ["three", "drei"])
def test_a_promised_component_is_imported_when_its_type_is_asked_for(promising, name):
    registry = Registry()
    assert registry.find("four") is None
    assert "cat_promising.three" not in sys.modules
    assert registry.get(name).__name__ == "Three"
    assert registry.aliases(name) == ("drei",)
    assert registry.broken == {}


def test_a_promised_component_is_one_of_all(promising):
    assert Registry().types() == ["two", "one", "three"]


def test_a_promised_component_whose_registration_was_forgotten_is_found(promising):
    first = Registry().get("three")
    registered.clear()
    assert Registry().get("three") is first


def test_a_broken_promise_is_told_once_and_takes_nothing_else_away(promising, caplog):
    registry = Registry()
    with caplog.at_level(logging.WARNING):
        assert registry.find("lost") is None
        assert registry.find("lost") is None
    assert "cat_promising.lost) are missing, they cannot be imported: ModuleNotFoundError" in caplog.text
    assert len(caplog.records) == 1
    assert "the components of 'cat_promising' are missing" in registry.hint("lost")
    assert registry.find("three") is not None


def test_a_promised_name_is_taken(promising):
    Registry().find("four")
    with pytest.raises(ValueError, match=r"the component already exists\. componentType=three"):
        register("three", category="c")(Other)


def test_the_components_of_a_promising_package_are_taken_out_together(promising):
    registry = Registry()
    registry.unregister("cat_promising")
    assert registry.types() == ["two", "one"]
    assert registry.find("drei") is None
