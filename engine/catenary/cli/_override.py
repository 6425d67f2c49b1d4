"""Change single settings of a chain for one run: `--config node.field=value`."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from catenary.cli._pairs import bad, put, typed_pair

if TYPE_CHECKING:
    from collections.abc import Iterable

    from catenary.chain import Chain
    from catenary.engine import Engine
    from catenary.load import Document

_OPTION = "--config"


def load_chain(engine: Engine, source: str | Document, overrides: Iterable[str]) -> Chain:
    """Load a chain, from a path or read already, with some settings changed.

    Raises:
        click.BadParameter: When an override names no node of the chain, or no setting of it.
        ChainError: When the chain, with the changes in it, has errors.
    """
    changes = list(overrides)
    document = _read(source)
    if not changes:
        return engine.load(document)
    before = {problem.text for problem in engine.check(document)}
    document = changed(document, changes)
    for problem in engine.check(document):
        is_wrong = problem.severity == "error" or problem.code == "config.unknown-option"
        if is_wrong and problem.text not in before:  # its place in the file is not where the value came from
            raise bad(_OPTION, f"{problem.text}; {problem.hint}" if problem.hint else problem.text)
    return engine.load(document)


def _read(source: str | Document) -> Document:
    from catenary.load import read

    return read(Path(source)) if isinstance(source, str) else source


def changed(document: Document, overrides: Iterable[str]) -> Document:
    """Give the document with the changes in it; what is not changed keeps its place in the file.

    Raises:
        click.BadParameter: When one of them names no node of the chain, or cannot be read.
    """
    from catenary.load.envelope import read_envelope
    from catenary.load.json_text import Parsed
    from catenary.load.places import value_at

    value = copy.deepcopy(document.value)
    paths = {node.id: path for node, path in zip(document.definition.nodes, document.node_paths, strict=True)}
    for override in overrides:
        key, setting = typed_pair(override, _OPTION)
        node_id = _node_of(key, paths)
        node = cast("dict[str, Any]", value_at(value, paths[node_id]))
        put(_configuration(node), _keys(node, key.removeprefix(f"{node_id}.")), setting, _OPTION)
    return read_envelope(Parsed(value, document.places), document.file)


def _node_of(key: str, known: Iterable[str]) -> str:
    """Give the node that a key begins with. An id may hold dots itself, so the longest one that fits is meant."""
    from catenary.load.names import did_you_mean

    node_id = max((name for name in known if key.startswith(f"{name}.")), key=len, default="")
    if node_id:
        return node_id
    wanted = key.partition(".")[0]
    if wanted in known:
        raise bad(_OPTION, f"{key!r} names a node but no setting; write {_OPTION} {wanted}.FIELD=VALUE")
    hint = did_you_mean(wanted, known, f"the nodes are: {', '.join(known)}")
    raise bad(_OPTION, f"the chain has no node {wanted!r}; {hint}")


def _configuration(node: dict[str, Any]) -> dict[str, Any]:
    from catenary.load.places import same_key

    name = same_key(node, "configuration") or "configuration"
    if not isinstance(node.get(name), dict):
        node[name] = {}
    return node[name]


def _keys(node: dict[str, Any], dotted: str) -> list[str]:
    """Split a dotted key, with the spelling of keys that are there already."""
    from catenary.load.places import same_key

    keys: list[str] = []
    inside: Any = _configuration(node)
    for key in dotted.split("."):
        name = same_key(cast("dict[str, Any]", inside), key) if isinstance(inside, dict) else None
        keys.append(name or key)
        inside = cast("dict[str, Any]", inside).get(name) if name else None
    return keys
