"""Another definition for one node of a chain: the document of the chain with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from catenary.errors import ChainError, EngineError

if TYPE_CHECKING:
    from catenary.jsontext import Json
    from catenary.load import Document


def with_node(chain: Json, node: dict[str, Json] | str, file: str) -> tuple[Document, str]:
    """Give the document of a chain with another definition of one of its nodes, and the id of that node.

    Args:
        chain: The chain as it is, as plain values.
        node: The node as it is written in a chain; a text is JSON or YAML.
        file: The file of the chain, below whose folder it may read.

    Raises:
        ChainSyntaxError: When the text is neither JSON nor YAML.
        ChainError: When it is empty, or no mapping.
        EngineError: When the chain has no such node.
    """
    from catenary.load import read
    from catenary.load.places import same_key, value_at

    given = _mapping(node, file)
    key = same_key(given, "id")
    node_id = str(given[key]) if key and given[key] is not None else ""
    document = read(cast("dict[str, Json]", chain), file=file)  # a copy
    paths = {one.id: path for one, path in zip(document.definition.nodes, document.node_paths, strict=True)}
    path = paths.get(node_id)
    if path is None:
        known = ", ".join(map(repr, paths)) or "none"
        text = f"node id={node_id} not found" if node_id else "the node to replace has no id"
        raise EngineError(text, hint=f"nodes of {document.definition.id!r}: {known}")
    cast("list[Json]", value_at(document.value, path[:-1]))[cast("int", path[-1])] = given
    return read(cast("dict[str, Json]", document.value), file=file), node_id


def _mapping(node: dict[str, Json] | str, file: str) -> dict[str, Json]:
    value: object = node
    if isinstance(node, str) and node.strip():
        value = _parsed(node, file)
    if not value or (isinstance(value, str) and not value.strip()):
        raise ChainError("dsl can not empty", file=file, hint="give the node as it is written in a chain, with its id")
    if not isinstance(value, dict):
        raise ChainError("a node is a mapping with id, type and configuration", file=file)
    return cast("dict[str, Json]", value)


def _parsed(text: str, file: str) -> Json:
    if not text.lstrip().startswith("{"):
        from catenary.load.yaml_text import parse_yaml

        return parse_yaml(text, file=file).value
    from catenary.load.json_text import parse_json

    return parse_json(text, file=file).value
