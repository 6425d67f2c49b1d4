"""What a piece of the syntax tree looks like: rows, members, keys."""

from __future__ import annotations

from catenary.expr import syntax


def row_before(node: syntax.Node) -> list[syntax.Node]:
    """Give the operand that a row of operators or accesses begins with, the row's part up to the second, and so on."""
    row: list[syntax.Node] = []
    while True:
        if isinstance(node, syntax.Binary):
            node = node.left
        elif isinstance(node, syntax.Field | syntax.Index | syntax.Slice | syntax.Method):
            node = node.target
        else:
            return row
        row.append(node)


def member(node: syntax.Node, name: str) -> syntax.Node | None:
    """Give `x` for `x.name` and `x['name']`, when `x` is a name, `$env` or a member of `$env`."""
    if key_of(node) != name:
        return None
    target = node.target if isinstance(node, syntax.Field | syntax.Index) else None
    is_plain = isinstance(target, syntax.Name | syntax.AllNames) or (
        isinstance(target, syntax.Field | syntax.Index) and isinstance(target.target, syntax.AllNames)
    )
    return target if is_plain else None


def key_of(node: syntax.Node) -> str:
    """Give the `k` of `x.k` and `x['k']`; "" for anything else."""
    if isinstance(node, syntax.Field):
        return node.name
    if isinstance(node, syntax.Index) and isinstance(node.index, syntax.Constant) and isinstance(node.index.value, str):
        return node.index.value
    return ""
