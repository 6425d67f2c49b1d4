"""What aspects do when a chain is loaded: they look at it before its nodes are made, and hear of it afterwards."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from catenary.aspects.base import Aspect, Objection, has
from catenary.errors import ChainInvalid, Problem
from catenary.load.codes import hint_of
from catenary.reasons import reason_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from catenary.aspects.roster import Roster
    from catenary.chain import Chain
    from catenary.definition import ChainDefinition, Connection, NodeDefinition
    from catenary.errors import Severity
    from catenary.life.pool import ChainPool
    from catenary.load.document import Document
    from catenary.load.places import Path

logger = logging.getLogger(__name__)


def prepared(document: Document, aspects: Sequence[Aspect]) -> Document:
    """Give a document as aspects leave it; what they refuse is among its problems."""
    for aspect in aspects:
        if has(aspect, "chain_before_init"):
            document = _look_at_chain(document, aspect)
    for aspect in aspects:
        if has(aspect, "node_before_init"):
            document = _look_at_nodes(document, aspect)
    problems: list[Problem] = []
    for aspect in aspects:
        if has(aspect, "objections"):
            said, raised = _asked(document, "", lambda aspect=aspect: list(aspect.objections(document.definition)))
            problems += [_problem(document, one) for one in said or ()] + raised
    return replace(document, problems=[*document.problems, *problems]) if problems else document


def _look_at_chain(document: Document, aspect: Aspect) -> Document:
    definition, problems = _asked(document, "", lambda: aspect.chain_before_init(document.definition))
    return _with(document, definition or document.definition, problems)


def _look_at_nodes(document: Document, aspect: Aspect) -> Document:
    definition = document.definition
    nodes: list[NodeDefinition] = []
    problems: list[Problem] = []
    for node in definition.nodes:
        changed, refused = _asked(document, node.id, lambda node=node: aspect.node_before_init(definition, node))
        problems += refused
        if changed is not None and changed.id != node.id:
            told = f"{type(aspect).__name__}.node_before_init calls the node {changed.id!r}, which cannot be"
            problems.append(_problem(document, Objection(told, node_id=node.id, hint="leave the id as it is")))
            changed = None
        nodes.append(changed or node)
    return _with(document, replace(definition, nodes=tuple(nodes)), problems)


def _asked(document: Document, node_id: str, ask: Callable[[], Any]) -> tuple[Any, list[Problem]]:
    """Call a join point; what it raises is a problem."""
    try:
        return ask(), []
    except ChainInvalid as error:
        return None, list(error.problems)
    except Exception as error:
        return None, [_problem(document, _objection(error, node_id))]


def _objection(error: Exception, node_id: str) -> Objection:
    if isinstance(error, Objection):
        if not error.node_id:
            error.node_id = node_id
        return error
    told = reason_of(error)
    return Objection(told, node_id=node_id, hint=getattr(error, "hint", ""))


def _problem(document: Document, objection: Objection) -> Problem:
    path = _path_of(document, objection)
    line, column = document.places.of(path)
    text = f"node {objection.node_id!r}: {objection}" if objection.node_id else str(objection)
    hint = objection.hint or hint_of("chain.refused")
    return Problem("chain.refused", text, hint, document.file, line, column, cast("Severity", objection.severity))


def _path_of(document: Document, objection: Objection) -> Path:
    if not objection.node_id:
        return document.path_to((), "ruleChain")
    for path, node in zip(document.node_paths, document.definition.nodes, strict=True):
        if node.id == objection.node_id:
            option = objection.option
            return document.path_to(path, "configuration", *option.split(".")) if option else path
    return ()


def _with(document: Document, definition: ChainDefinition, problems: list[Problem]) -> Document:
    """Give the document with another definition: what is not new in it keeps its place."""
    if definition is document.definition:
        return replace(document, problems=[*document.problems, *problems]) if problems else document
    known = {node.id: path for path, node in zip(document.node_paths, document.definition.nodes, strict=True)}
    head = ("metadata", "nodes")
    edges = (*document.definition.connections, *document.definition.rule_chain_connections)
    places = dict(zip(map(_edge, edges), document.connection_paths, strict=True))
    ends = dict(zip((one.id for one in document.definition.endpoints), document.endpoint_paths, strict=True))
    return replace(
        document,
        definition=definition,
        problems=[*document.problems, *problems],
        node_paths=tuple(known.get(node.id, (*head, number)) for number, node in enumerate(definition.nodes)),
        connection_paths=tuple(
            places.get(_edge(edge), ("metadata", "connections"))
            for edge in (*definition.connections, *definition.rule_chain_connections)
        ),
        endpoint_paths=tuple(ends.get(one.id, ("metadata", "endpoints")) for one in definition.endpoints),
    )


def _edge(connection: Connection) -> tuple[str, str, str]:
    return connection.from_id, connection.type, connection.to_id


def hear_of_chains(pool: ChainPool, roster: Roster) -> None:
    """Have the aspects of chains told what becomes of these."""

    def created(chain: Chain) -> None:
        if chain.id not in pool.present:
            _tell_created(chain)

    def kept(chain: Chain) -> None:
        roster.keep(chain)

    def updated(chain: Chain, node_id: str) -> None:
        roster.keep(chain)
        _tell(chain, "reload", chain, node_id)

    def closed(chain: Chain) -> None:
        _tell(chain, "destroy", chain)

    notices = pool.notices
    notices.created.append(created)
    notices.new.append(kept)
    notices.updated.append(updated)
    notices.closed.append(closed)
    notices.deleted.append(roster.forget)


def _tell_created(chain: Chain) -> None:
    problems: list[Problem] = []
    for aspect in chain.aspects:
        if has(aspect, "created"):
            try:
                aspect.created(chain)
            except Exception as error:
                objection = _objection(error, "")
                hint = objection.hint or hint_of("chain.refused")
                problems.append(Problem("chain.refused", str(objection), hint))
    if problems:
        raise ChainInvalid(problems)


def _tell(chain: Chain, point: str, *arguments: Any) -> None:
    for aspect in chain.aspects:
        if has(aspect, point):
            try:
                getattr(aspect, point)(*arguments)
            except Exception:
                name = type(aspect).__name__
                logger.exception("%s of the aspect %s raised", point, name, extra={"chain_id": chain.id})
