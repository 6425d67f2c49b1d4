"""The registry: finding components, and importing what installed packages bring."""

from __future__ import annotations

import logging
import sys
from importlib.metadata import EntryPoint

import pytest

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
    before = dict(registered)
    registered.clear()
    register("one", category="b", aliases=("uno", "eins"))(One)
    register("two", category="a")(Two)
    yield
    registered.clear()
    registered.update(before)


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
from catenary.component import Component, Config, register

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
