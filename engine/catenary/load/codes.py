"""Every code of a problem of a chain: what it means, why it comes about, and what to do. A table, hence its length."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from catenary.errors import Severity


@dataclass(frozen=True, slots=True)
class Code:
    """A kind of problem. `meaning`, `cause` and `cure` are sentences for the reference pages."""

    name: str
    meaning: str
    cause: str
    cure: str
    severity: Severity = "error"


def _warning(name: str, meaning: str, cause: str, cure: str) -> Code:
    return Code(name, meaning, cause, cure, "warning")


CODES: Final[dict[str, Code]] = {
    code.name: code
    for code in (
        Code(
            "chain.syntax",
            "The text is neither valid JSON nor valid YAML.",
            "A comma, quote or bracket is missing or too many, or the indentation of YAML is uneven.",
            "Look at the named line and column.",
        ),
        Code(
            "chain.shape",
            "A part of the document is of another kind than a chain has there.",
            "A list stands where a mapping belongs, a number where a text belongs, or a node is null.",
            "Compare the place with the example in the guide, or let the editor check against `catenary schema`.",
        ),
        Code(
            "chain.duplicate-key",
            "A mapping has the same key twice.",
            "A part was copied and not renamed; only the second value would count.",
            "Remove one of the two.",
        ),
        Code(
            "test.shape",
            "A part of a file of chain tests is missing, or of another kind than belongs there.",
            "A key is misspelt, a list stands where a mapping belongs, or two cases have the same name.",
            "Compare the place with the guide to testing, or let the editor check against `catenary schema --tests`.",
        ),
        Code(
            "test.unknown-key",
            "A file of chain tests has a key that means nothing.",
            "The key is misspelt, or indented too far or not far enough.",
            "Take the key that the hint names, or look for it in the guide to testing.",
        ),
        Code(
            "test.unknown-node",
            "A chain test names a node that the chain does not have, or mocks one at which branches end.",
            "The id is misspelt, the node was renamed, or it belongs to another chain and lacks `chain:` in front.",
            "Take an id of the chain; a node of a chain that is run inside is named `chain:node`.",
        ),
        Code(
            "test.no-chain",
            "A file of chain tests does not lead to its chain.",
            "The chain has another name than the file, or was moved.",
            "Name the file of the chain with `chain`, seen from the file of the tests.",
        ),
        Code(
            "node.is-endpoint",
            "A node has the type of an endpoint.",
            "An endpoint brings messages in from outside; no message can travel to it.",
            "Write it under `metadata.endpoints`.",
        ),
        Code(
            "endpoint.is-node",
            "An endpoint has the type of a node.",
            "The type is misspelt, or the node belongs under `metadata.nodes`.",
            "Take the type of an endpoint; `catenary components endpoint` lists them.",
        ),
        Code(
            "endpoint.duplicate-router",
            "Two routers of an endpoint have the same id.",
            "Two routers have the same method and path, or one was copied.",
            "Give each router an id of its own, or remove one.",
        ),
        Code(
            "endpoint.unknown-processor",
            "A router or an endpoint names a processor that there is not.",
            "The name is misspelt, the processor is for the other side, or the host program has not added it.",
            "Take one that the hint names, or add it with `engine.endpoints.processors.add` before loading.",
        ),
        Code(
            "endpoint.target",
            "The target of a router cannot be read, or leads to nothing.",
            "The path names no chain, no component, or a node that the chain does not have.",
            "Write `chain:ID`, `chain:ID:NODE` or `component:TYPE`.",
        ),
        Code(
            "endpoint.router",
            "An endpoint cannot do what one of its routers asks for.",
            "The path, the cron expression or the parameters are not what this type of endpoint takes, or are those of "
            "another router.",
            "Compare the router with the page of the endpoint, and with the other routers.",
        ),
        Code(
            "chain.disabled",
            "The chain is disabled.",
            "`ruleChain.disabled` is true.",
            "Set `disabled` to false to load the chain.",
        ),
        Code(
            "chain.duplicate-id",
            "Two nodes have the same id, or another chain is loaded under the id of this one.",
            "A node was copied and not renamed, or has the id that is made for one without (`node<index>`).",
            "Give each node an id of its own; use `engine.reload` to replace a chain.",
        ),
        Code(
            "chain.open-failed",
            "A component could not get ready.",
            "What it needs when the chain is loaded is missing or refused; the text is the component's own.",
            "Do what the text says, and load the chain again.",
        ),
        Code(
            "chain.not-shared",
            "A node among the shared resources has no connection that could be shared.",
            "Only nodes that connect to something can be shared, such as clients of databases.",
            "Move the node into a chain.",
        ),
        Code(
            "chain.resource",
            "A node borrows the connection of something that has none, or has one of another kind.",
            "The id behind `ref://` is that of another node than was meant.",
            "Name a node, or a shared resource, of a type that makes such a connection.",
        ),
        _warning(
            "chain.unknown-resource",
            "A node borrows a connection with `ref://ID`, and nothing has this id.",
            "The id is misspelt, or the shared resource is not loaded yet.",
            "Load it before the chain is run: `engine.shared.load(...)`, or `--shared FILE` on the command line.",
        ),
        Code(
            "chain.refused",
            "A rule of the host program, or an aspect of it, refuses the chain.",
            "The chain breaks a rule of the program that it is loaded into; the text is the rule's own.",
            "Do what the text says.",
        ),
        Code(
            "chain.unknown-node",
            "A connection begins or ends at a node that does not exist.",
            "The id is misspelt, or the node was removed.",
            "Correct `fromId` or `toId`, or remove the connection.",
        ),
        Code(
            "chain.unknown-type",
            "No component has the type of the node.",
            "The type is misspelt (upper and lower case count), or the package that has it is not installed.",
            "Correct the type; `catenary components` lists all.",
        ),
        Code(
            "chain.leads-nowhere",
            "Nothing is connected to a relation by which messages have to go on.",
            "The connection is missing, begins at another node, or its relation is misspelt.",
            "Connect the relation that the text names to the node that comes next.",
        ),
        Code(
            "chain.cycle",
            "Connections lead from a node back to itself, and the chain does not allow that.",
            "A connection goes back by mistake, or the chain is meant to loop.",
            "Remove one of the connections, or set `ruleChain.configuration.allowCycle` to true.",
        ),
        Code(
            "chain.join-first",
            "The node that messages enter by is a join.",
            "`firstNodeIndex` names the join, or the join is written first.",
            "Let messages enter by a node before the join.",
        ),
        Code(
            "chain.unreachable-join",
            "No path leads from the first node to the join, so it would never fire.",
            "A connection to it is missing, or begins at a node that is unreachable itself.",
            "Connect the branches that the join collects, or remove it.",
        ),
        Code(
            "chain.endpoint-in-sub-chain",
            "A chain with `root: false` has endpoints.",
            "The chain was made for use inside other chains.",
            "Set `ruleChain.root` to true, or remove the endpoints.",
        ),
        Code(
            "chain.first-node-index",
            "`firstNodeIndex` is negative.",
            "Somebody counted from the end of the list.",
            "Count from 0: the index of the node by which messages enter.",
        ),
        Code(
            "chain.setting",
            "A setting of the chain in `ruleChain.configuration` is wrong.",
            "The value is of another kind, or out of range.",
            "Give a value of the kind that the text names.",
        ),
        Code(
            "chain.timeout",
            "The `timeout` of a node is no length of time.",
            "The unit is unknown or the number negative.",
            "Write seconds as a number, or a text such as '5s' or '500ms'.",
        ),
        Code(
            "chain.retry",
            "The `retry` of a node is malformed.",
            "It is neither a whole number nor a mapping with maxRetries, delay, maxDelay, backoff, jitter.",
            "Write the number of retries, or such a mapping.",
        ),
        Code(
            "config.invalid",
            "An option of a node has a wrong value, or a required option is missing.",
            "The value is of another kind or out of range, or a placeholder in it did not resolve.",
            "Give a value as the text says; `catenary components TYPE` shows all options.",
        ),
        Code(
            "config.runs-itself",
            "A node runs itself each time that it runs, be it through other nodes that its options name.",
            "The id of a group stands in its own list, or in that of a group that it runs, or a `ref` names itself.",
            "Name another node; to go round, use a loop.",
        ),
        Code(
            "expression.syntax",
            "An expression cannot be compiled.",
            "A bracket or operator is missing, or a function is not known.",
            "Look at the named position in the expression.",
        ),
        Code(
            "template.syntax",
            "A `${...}` text cannot be compiled.",
            "A brace is not closed, or what stands between the braces is no expression.",
            "Look at the named position in the text.",
        ),
        Code(
            "script.syntax",
            "A script cannot be compiled.",
            "It is not valid JavaScript.",
            "Look at the named position in the script.",
        ),
        _warning(
            "chain.no-nodes",
            "The chain has no nodes, or `firstNodeIndex` is past the last one: every message ends as `Failure`.",
            "`metadata.nodes` is missing or empty, or nodes were removed.",
            "Add at least one node, and let `firstNodeIndex` be the index of the first, counted from 0.",
        ),
        _warning(
            "chain.unknown-key",
            "A key means nothing in the chain language.",
            "It is misspelt, or belongs to another program; it is kept when the chain is written back.",
            "Correct it, or leave it if another program reads it.",
        ),
        _warning(
            "chain.unreachable-node",
            "No path leads from the first node to this node.",
            "A connection is missing.",
            "Connect the node, or remove it.",
        ),
        _warning(
            "chain.unknown-relation",
            "A connection is made for a relation that the component never leaves by.",
            "The relation is misspelt; upper and lower case count.",
            "Use one of the relations that the text names.",
        ),
        _warning(
            "chain.duplicate-connection",
            "The same connection is there twice, so the node it leads to runs twice.",
            "It was copied by mistake.",
            "Remove one, unless both runs are meant.",
        ),
        _warning(
            "chain.double-retry",
            "`retry` is set on a node whose component retries by itself.",
            "Both would multiply.",
            "Remove `retry` and use the component's own options.",
        ),
        _warning(
            "chain.unresolved-placeholder",
            "A `${global.x}`, `${vars.x}` or `${secrets.x}` has no value when the chain is loaded.",
            "The property or variable is not set, or misspelt.",
            "Set the property (`--set global.x=...`) or add it to `ruleChain.configuration.vars`.",
        ),
        _warning(
            "chain.sealed-secret",
            "A secret of the chain cannot be decrypted, and is used as it is.",
            "Another key is set than the one it was encrypted with, or none, or the value was never encrypted.",
            "Set `CATENARY_SECRET_KEY`, or encrypt the value with `catenary secret encrypt`.",
        ),
        _warning(
            "chain.run-log-mode",
            "`ruleChain.additionalInfo.runLogMode` is none of the modes; it counts as `off`.",
            "The mode is misspelt, or one that another tool knows.",
            "Use `off`, `summary` or `detail`.",
        ),
        _warning(
            "expression.unknown-name",
            "An expression or template names a variable that is unknown but like a known one, or an unknown function.",
            "The name is misspelt, or the function is registered later; an unknown variable is nil.",
            "Correct the name; register functions of the host program before the chain is loaded.",
        ),
        _warning(
            "component.missing-package",
            "A node or an endpoint needs a package that is not installed.",
            "The package belongs to an extra of catenary, or of the package that the component comes with.",
            "Install what the hint names where the chain is to run.",
        ),
        _warning(
            "config.unknown-node",
            "An option of a node names a node that does not exist.",
            "The id is misspelt, or the node was removed.",
            "Correct the id; upper and lower case count.",
        ),
        _warning(
            "config.unknown-name",
            "An option names a chain, a tool or a hook that is not there, and nearly one that is.",
            "The name is misspelt, or a file is named without its ending.",
            "Correct it; a chain whose id is meant is loaded before, or given to `catenary check` as well.",
        ),
        _warning(
            "config.deprecated-option",
            "A node's configuration has an option that chains should no longer use.",
            "The chain was written for an earlier version, or for another engine; the option still has its effect.",
            "Do what the hint says.",
        ),
        _warning(
            "config.unknown-option",
            "A node's configuration has an option that its component does not know.",
            "It is misspelt, or belongs to another component; it has no effect.",
            "Correct or remove it; `catenary components TYPE` shows all options.",
        ),
    )
}
"""All codes by name; the reference pages are made from it."""


def severity_of(code: str) -> Severity:
    """Give the severity a problem with this code has."""
    return CODES[code].severity


def hint_of(code: str) -> str:
    """Give the hint for a problem that has no better one."""
    return CODES[code].cure
