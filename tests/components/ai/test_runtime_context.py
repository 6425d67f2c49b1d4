"""What a caller gives along with a run."""

from __future__ import annotations

import pytest

from catenary.runtime.scope import Scope
from catenary_components.ai.runtime_context import RuntimeContext, runtime_context


class Animal:
    """A type."""


class Cat(Animal):
    """One below it."""


class Tiger(Cat):
    """One further below."""


def test_texts_and_values_by_type_do_not_see_each_other() -> None:
    context = RuntimeContext("a text by type", user_id="u", tenant="t")
    assert context["tenant"] == "t"
    assert context.get(str) == "a text by type"
    assert context.get(str, "tenant") is None
    assert list(context) == ["tenant"]


def test_a_value_is_found_by_its_type_and_else_by_the_most_derived_below() -> None:
    context, cat, tiger, animal = RuntimeContext(), Cat(), Tiger(), Animal()
    context.put(cat)
    context.put(tiger)
    assert context.get(Animal) is tiger
    assert context.get(Cat) is cat
    context.put(animal)
    assert context.get(Animal) is animal


def test_keys_tell_values_of_one_type_apart() -> None:
    context, one, two = RuntimeContext(), Cat(), Cat()
    context.put(one, key="one")
    context.put(two, key="two")
    assert context.get(Cat, "one") is one
    assert context.get(Animal, "two") is two
    assert context.get(Cat) is None


def test_none_takes_away() -> None:
    context = RuntimeContext(tenant="t")
    context["tenant"] = None
    assert "tenant" not in context
    assert context.text("tenant", "none") == "none"
    context.put(Cat())
    context.put(None, kind=Cat)
    assert context.get(Cat) is None
    with pytest.raises(TypeError, match="say what, with kind="):
        context.put(None)


def test_a_value_may_be_put_under_a_base_type() -> None:
    context, tiger = RuntimeContext(), Tiger()
    context.put(tiger, kind=Animal)
    assert context.get(Animal) is tiger
    assert context.get(Tiger) is None


def test_a_run_without_one_gets_an_empty_one_and_a_given_one_is_filled_in() -> None:
    assert runtime_context(Scope(), "s", "u").session_id == "s"
    given = RuntimeContext(user_id="mine")
    found = runtime_context(Scope([given]), "s", "u")
    assert found is given
    assert (found.session_id, found.user_id) == ("s", "mine")
