"""Predicates: what `filter`, `map` and their like evaluate for each element."""

from __future__ import annotations

from tests.engine.expr.language import fails, gives, refuses


def test_a_predicate_is_bare_or_in_braces() -> None:
    gives({"filter(msg.l, # > 1)": [3, 2], "filter(msg.l, {# > 1})": [3, 2], "map([1], {let x = #; x + 1})": [2]})


def test_a_brace_that_opens_a_map_makes_a_map() -> None:
    gives({"map([1], {a: #})": [{"a": 1}], "map([1], {})": [{}], "map([1], {'b c': #})": [{"b c": 1}]})


def test_the_hash_is_the_element_and_a_leading_dot_its_field() -> None:
    gives(
        {
            "map(msg.rows, #.n)": ["x", "y"],
            "map(msg.rows, .n)": ["x", "y"],
            "any(msg.rows, .q > 4)": True,
            "map([[1]], #[0])": [1],
        }
    )


def test_hash_index_is_the_position() -> None:
    gives({"map(['a', 'b'], #index)": [0, 1], "filter(msg.l, #index > 0)": [1, 2], "findLast(msg.l, #index < 2)": 1})


def test_hash_acc_is_what_reduce_has_so_far() -> None:
    gives({"reduce(msg.l, #acc + #)": 6, "reduce(msg.l, #acc + string(#) + string(#index), '')": "301122"})
    refuses(
        {"map([1], #acc)": "'#acc' outside of `reduce`", "reduce([1], map([1], #acc))": "'#acc' outside of `reduce`"}
    )


def test_the_hash_has_no_meaning_outside_of_a_predicate() -> None:
    refuses(
        {
            "# > 1": "outside of a predicate",
            "#index": "outside of a predicate",
            "filter(#, true)": "outside",
            ".x": "expected a value",
        }
    )


def test_inner_predicates_hide_the_outer_element_and_let_keeps_it() -> None:
    gives(
        {
            "map([[1, 2], [3]], map(#, # + 1))": [[2, 3], [4]],
            "map([1, 2], {let x = #; map([10], # + x)})": [[11], [12]],
            "filter([[1], [2, 3]], any(#, # > 2))": [[2, 3]],
            "map([1, 2], {let i = #index; map([5], i)})": [[0], [1]],
        }
    )


def test_predicates_take_lists_only() -> None:
    fails(
        {
            "map(msg.o, #)": "map() takes a list, not map",
            "filter(msg.no, true)": "not nil",
            "any(msg.s, true)": "not string",
        }
    )
    refuses({"map({a: 1}, #)": "takes array as argument 1, not map"})


def test_predicates_of_tests_must_give_a_bool() -> None:
    fails({f"{name}(msg.l, #)": "must give a bool, not int" for name in [
        "filter", "all", "any", "none", "one", "find", "findIndex", "findLast", "findLastIndex", "count",
    ]})  # fmt: skip


def test_variables_are_seen_inside_of_predicates() -> None:
    gives({"filter(msg.l, # < msg.t and metadata.kind == 'a')": [3, 1, 2], "let m = 2; count(msg.l, # >= m)": 2})


def test_tests_on_an_empty_list_are_true_false_true_false() -> None:
    gives({"all([], # > 1)": True, "any([], # > 1)": False, "none([], # > 1)": True, "one([], # > 1)": False})


def test_finders_give_nil_and_not_minus_one() -> None:
    gives(
        {
            "find(msg.l, # > 9)": None,
            "findIndex(msg.l, # > 9)": None,
            "findLast([], true)": None,
            "findLastIndex([], true)": None,
        }
    )


def test_predicates_may_be_piped_and_nested_in_any_argument() -> None:
    gives(
        {
            "msg.rows | filter(.q > 1) | map(.n) | join('-')": "y",
            "sum(map(filter(msg.l, # > 1), # * 2))": 10,
            "reduce(map(msg.l, # * 2), #acc + #)": 12,
            "sortBy(msg.rows, -.q) | map(.n)": ["y", "x"],
        }
    )


def test_the_first_step_of_reduce_is_the_first_element_or_the_value_given() -> None:
    gives({"reduce([5], #acc + 100)": 5, "reduce([5], #acc + #, 100)": 105, "reduce([], #acc, 1)": 1})
    fails({"reduce([], #acc)": "needs an initial value"})
