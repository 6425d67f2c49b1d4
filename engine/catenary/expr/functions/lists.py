"""Functions on lists, those with predicates among them: a predicate gets `(item, index, acc)`."""

from __future__ import annotations

from functools import cmp_to_key
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

from catenary.expr.functions.function import Function, adder
from catenary.expr.kinds import MAX_ITEMS, EvaluationError, is_number, kind_of
from catenary.expr.operators import less

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator

    from catenary.expr.budget import Budget
    from catenary.jsontext import Json

    Predicate: TypeAlias = Callable[[Json, int, Json], Json]

TABLE: Final[dict[str, Function]] = {}
function = adder(TABLE, "Lists")


def _list(name: str, value: Json) -> list[Json]:
    if isinstance(value, list | tuple):
        return cast("list[Json]", value)
    raise EvaluationError(f"{name}() takes a list, not {kind_of(value)}")


def _whole(name: str, value: Json) -> int:
    if is_number(value) and abs(value) < 2**53:
        return int(value)
    raise EvaluationError(f"{name}() takes a number, not {kind_of(value)}")


def _steps(budget: Budget, name: str, items: Json, *, backwards: bool = False) -> Iterator[tuple[int, Json]]:
    elements = budget.enter(name, items)
    if backwards:
        return zip(range(len(elements) - 1, -1, -1), budget.timed(elements[::-1]), strict=True)
    return enumerate(budget.timed(elements))


def refuse(name: str, passed: Json) -> bool:
    """Fail: the predicate of this function gave no bool."""
    raise EvaluationError(f"the predicate of {name}() must give a bool, not {kind_of(passed)}")


def _tested(
    budget: Budget, name: str, items: Json, predicate: Predicate, *, backwards: bool = False
) -> Iterator[tuple[int, Json, bool]]:
    for index, item in _steps(budget, name, items, backwards=backwards):
        passed = predicate(item, index, None)
        if passed is not True and passed is not False:
            refuse(name, passed)
        yield index, item, passed


@function("all", 2, counted=True, takes="array .", examples=(("all([1, 2], # > 0)", True), ("all([], # > 0)", True)))
def every(budget: Budget, items: Json, predicate: Predicate) -> bool:
    """Tell whether all elements pass."""
    return all(passed for _, _, passed in _tested(budget, "all", items, predicate))


@function("any", 2, counted=True, takes="array .", examples=(("any([1, 2], # > 1)", True), ("any([], # > 1)", False)))
def some(budget: Budget, items: Json, predicate: Predicate) -> bool:
    """Tell whether an element passes."""
    return any(passed for _, _, passed in _tested(budget, "any", items, predicate))


@function("none", 2, counted=True, takes="array .", examples=(("none([1, 2], # > 2)", True),))
def none(budget: Budget, items: Json, predicate: Predicate) -> bool:
    """Tell whether no element passes."""
    return not any(passed for _, _, passed in _tested(budget, "none", items, predicate))


@function("one", 2, counted=True, takes="array .", examples=(("one([1, 2], # > 1)", True),))
def one(budget: Budget, items: Json, predicate: Predicate) -> bool:
    """Tell whether just one element passes."""
    return sum(passed for _, _, passed in _tested(budget, "one", items, predicate)) == 1


@function(
    "filter",
    2,
    counted=True,
    takes="array .",
    examples=(("filter([1, 2, 3], # > 1)", [2, 3]), ("filter([{q: 1}, {q: 5}], .q > 1)", [{"q": 5}])),
)
def keep(budget: Budget, items: Json, predicate: Predicate) -> list[Json]:
    """Give the elements that pass."""
    return [item for _, item, passed in _tested(budget, "filter", items, predicate) if passed]


@function(
    "map",
    2,
    counted=True,
    takes="array .",
    examples=(("map([1, 2], # * 10)", [10, 20]), ("map(['a', 'b'], {let x = #; x + string(#index)})", ["a0", "b1"])),
)
def convert(budget: Budget, items: Json, predicate: Predicate) -> list[Json]:
    """Give what the expression makes of each element."""
    return [predicate(item, index, None) for index, item in _steps(budget, "map", items)]


@function(
    "find",
    2,
    counted=True,
    picks=True,
    takes="array .",
    examples=(("find([1, 2, 3], # > 1)", 2), ("find([1], # > 1)", None)),
)
def find(budget: Budget, items: Json, predicate: Predicate) -> Json:
    """Give the first element that passes; nil when there is none."""
    return next((item for _, item, passed in _tested(budget, "find", items, predicate) if passed), None)


@function(
    "findIndex",
    2,
    counted=True,
    takes="array .",
    examples=(("findIndex([1, 2, 3], # > 1)", 1), ("findIndex([1], # > 1)", None)),
)
def find_index(budget: Budget, items: Json, predicate: Predicate) -> int | None:
    """Give the index of the first element that passes; nil when there is none."""
    return next((index for index, _, passed in _tested(budget, "findIndex", items, predicate) if passed), None)


@function("findLast", 2, counted=True, picks=True, takes="array .", examples=(("findLast([1, 2, 3], # > 1)", 3),))
def find_last(budget: Budget, items: Json, predicate: Predicate) -> Json:
    """Give the last element that passes; nil when there is none."""
    tested = _tested(budget, "findLast", items, predicate, backwards=True)
    return next((item for _, item, passed in tested if passed), None)


@function("findLastIndex", 2, counted=True, takes="array .", examples=(("findLastIndex([1, 2, 3], # > 1)", 2),))
def find_last_index(budget: Budget, items: Json, predicate: Predicate) -> int | None:
    """Give the index of the last element that passes; nil when there is none."""
    tested = _tested(budget, "findLastIndex", items, predicate, backwards=True)
    return next((index for index, _, passed in tested if passed), None)


def _itself(item: Json, index: int, acc: Json) -> Json:  # noqa: ARG001 - the form of a predicate
    return item


@function(
    "count", 1, 2, counted=True, takes="array .", examples=(("count([1, 2, 3], # > 1)", 2), ("count([true, false])", 1))
)
def count(budget: Budget, items: Json, predicate: Predicate = _itself) -> int:
    """Count the elements that pass; without a predicate, those that are true."""
    return sum(passed for _, _, passed in _tested(budget, "count", items, predicate))


@function(
    "sum", 1, 2, counted=True, takes="array .", examples=(("sum([1, 2.5])", 3.5), ("sum([{q: 1}, {q: 2}], .q)", 3))
)
def total(budget: Budget, items: Json, predicate: Predicate = _itself) -> Json:
    """Add up the elements, or what the expression makes of them."""
    return add_up(predicate(item, index, None) for index, item in _steps(budget, "sum", items))


def add_up(values: Iterable[Json]) -> Json:
    """Add up numbers. Raises: EvaluationError: when one is none."""
    result: Json = 0
    for value in values:
        if value.__class__ is not float and not is_number(value):
            raise EvaluationError(f"sum() takes numbers, not {kind_of(value)}")
        result += value
    return result


@function(
    "reduce",
    2,
    3,
    counted=True,
    takes="array . .",
    examples=(("reduce([1, 2, 3], #acc + #)", 6), ("reduce([1, 2], #acc + #, 10)", 13)),
)
def reduce(budget: Budget, items: Json, step: Predicate, *initial: Json) -> Json:
    """Fold a list into one value: the expression sees it as `#acc`; it begins with the first element, or as given."""
    elements = budget.enter("reduce", items)
    if not elements and not initial:
        raise EvaluationError("reduce() of an empty list needs an initial value")
    result, start = (initial[0], 0) if initial else (elements[0], 1)
    for index, item in enumerate(budget.timed(elements[start:]), start):
        result = budget.charge_shallow(step(item, index, result))
    return result


@function(
    "groupBy",
    2,
    counted=True,
    takes="array .",
    examples=(("groupBy(['a', 'bb', 'c'], len(#) > 1 ? 'long' : 'short')", {"short": ["a", "c"], "long": ["bb"]}),),
)
def group_by(budget: Budget, items: Json, predicate: Predicate) -> dict[Json, list[Json]]:
    """Give a map from what the expression makes of the elements to the lists of those elements."""
    groups: dict[Json, list[Json]] = {}
    for index, item in _steps(budget, "groupBy", items):
        group = predicate(item, index, None)
        if isinstance(group, list | dict):
            raise EvaluationError(f"groupBy() cannot group by {kind_of(cast('Json', group))}")
        groups.setdefault(group, []).append(item)
    return groups


def _compare(left: Json, right: Json) -> int:
    return -1 if less(left, right) else 1 if less(right, left) else 0


def _order_of(values: list[Json]) -> Callable[[Json], Any] | None:
    """Give how to compare: `None` where all are numbers or all are strings, which Python orders as `less` does."""
    kinds = set(map(type, values))
    return None if kinds <= {int, float} or kinds == {str} else cmp_to_key(_compare)


def _is_descending(name: str, order: Json) -> bool:
    if order in ("asc", "desc"):
        return order == "desc"
    raise EvaluationError(f"{name}(): the order is 'asc' or 'desc'")


@function(
    "sortBy",
    2,
    3,
    counted=True,
    takes="array . string",
    examples=(("sortBy([{q: 2}, {q: 1}], .q)", [{"q": 1}, {"q": 2}]), ("sortBy([1, 2], #, 'desc')", [2, 1])),
)
def sort_by(budget: Budget, items: Json, predicate: Predicate, order: Json = "asc") -> list[Json]:
    """Sort the elements by what the expression makes of them."""
    keyed = [(predicate(item, index, None), item) for index, item in _steps(budget, "sortBy", items)]
    order_of = _order_of([key for key, _ in keyed])
    keyed.sort(
        key=lambda pair: pair[0] if order_of is None else order_of(pair[0]),
        reverse=_is_descending("sortBy", order),
    )
    return [item for _, item in keyed]


@function(
    "sort",
    1,
    2,
    takes="array string",
    examples=(("sort([3, 1, 2])", [1, 2, 3]), ("sort(['a', 'b'], 'desc')", ["b", "a"])),
)
def sort(items: Json, order: Json = "asc") -> list[Json]:
    """Sort numbers, or strings."""
    elements = _list("sort", items)
    return sorted(elements, key=_order_of(elements), reverse=_is_descending("sort", order))


@function("first", 1, picks=True, takes="array", examples=(("first([1, 2])", 1), ("first([])", None)))
def first(items: Json) -> Json:
    """Give the first element; nil of an empty list."""
    elements = _list("first", items)
    return elements[0] if elements else None


@function("last", 1, picks=True, takes="array", examples=(("last([1, 2])", 2),))
def last(items: Json) -> Json:
    """Give the last element; nil of an empty list."""
    elements = _list("last", items)
    return elements[-1] if elements else None


@function("take", 2, takes="array number", examples=(("take([1, 2, 3], 2)", [1, 2]), ("take([1], 5)", [1])))
def take(items: Json, number: Json) -> list[Json]:
    """Give the first so many elements."""
    count_of = _whole("take", number)
    if count_of < 0:
        raise EvaluationError("take() takes no negative number")
    return list(_list("take", items)[:count_of])


@function("reverse", 1, takes="array", examples=(("reverse([1, 2])", [2, 1]),))
def reverse(items: Json) -> list[Json]:
    """Give a list in the other direction."""
    return list(reversed(_list("reverse", items)))


@function("uniq", 1, takes="array", examples=(("uniq([1, 2, 1.0])", [1, 2]),))
def unique(items: Json) -> list[Json]:
    """Give each different element once."""
    seen: set[Hashable] = set()
    result: list[Json] = []
    for item in _list("uniq", items):
        key = _identity(item)
        if key not in seen:
            seen.add(key)
            result.append(item)
    return result


def _identity(value: Json) -> Hashable:
    """Give a key that equal values share.

    Numbers become bytes: who sends the message can foresee how Python hashes numbers, and make all of them collide.
    """
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, int) or (isinstance(value, float) and value.is_integer()):
        return b"%x" % int(value)
    if isinstance(value, float):
        return value.hex().encode()
    if isinstance(value, list | tuple):
        return (list, *map(_identity, cast("list[Json]", value)))
    if isinstance(value, dict):
        entries = cast("dict[str, Json]", value)
        return (dict, frozenset([(key, _identity(held)) for key, held in entries.items()]))
    return (bytes, value) if isinstance(value, bytes) else cast("Hashable", value)


def _bounded(items: list[Json]) -> list[Json]:
    if len(items) > MAX_ITEMS:
        raise EvaluationError(f"memory budget exceeded: a list has at most {MAX_ITEMS} elements")
    return items


@function("flatten", 1, takes="array", examples=(("flatten([1, [2, [3]]])", [1, 2, 3]),))
def flatten(items: Json) -> list[Json]:
    """Put the elements of all inner lists, at any depth, into one."""
    result: list[Json] = []
    stack = [*reversed(_list("flatten", items))]
    while stack:
        item = stack.pop()
        if isinstance(item, list | tuple):
            stack.extend(reversed(cast("list[Json]", item)))
            _bounded(stack)
        else:
            result.append(item)
    return _bounded(result)


@function("concat", 1, None, takes="array", examples=(("concat([1], [2, 3])", [1, 2, 3]),))
def concat(*lists: Json) -> list[Json]:
    """Put lists one behind the other."""
    result: list[Json] = []
    for items in lists:
        result.extend(_list("concat", items))
        _bounded(result)
    return result
