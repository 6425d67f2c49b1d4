"""The forms of flow components, as editors read them: options, defaults, and the relations to connect."""

from __future__ import annotations

from typing import Any

import pytest

from catenary import Engine

LOOP = ["Success", "Stream", "Failure", "AwaitConfirm", "AwaitExternal"]
REQUIRED = object()


@pytest.mark.parametrize(
    ("node_type", "category", "relations", "defaults"),
    [
        ("for", "common", LOOP, {"range": "1..3", "do": "s3", "mode": 0, "concurrency": 100}),
        (
            "while",
            "common",
            LOOP,
            {"condition": "msg.count==nil || msg.count < 3", "do": REQUIRED, "mode": 2, "maxRounds": None},
        ),
        ("break", "common", ["Success"], {}),
        (
            "groupAction",
            "common",
            ["Success", "Failure"],
            {"matchRelationType": "Success", "matchNum": 0, "nodeIds": [], "timeout": 30, "mergeToMap": False},
        ),
        ("groupFilter", "filter", ["True", "False", "Failure"], {"allMatches": False, "nodeIds": [], "timeout": 30}),
        ("ref", "common", [], {"targetId": REQUIRED, "tellChain": False}),
        ("flow", "flow", [], {"targetId": REQUIRED, "extend": False}),
    ],
)
def test_a_form_has_the_options_with_their_defaults(
    engine: Engine, node_type: str, category: str, relations: list[str], defaults: dict[str, Any]
) -> None:
    form: Any = engine.registry.form(node_type)
    assert (form["category"], form["relationTypes"]) == (category, relations)
    found = {one["name"]: REQUIRED if one["required"] else one["defaultValue"] for one in form["fields"]}
    assert found == defaults
    assert all(one["desc"] for one in form["fields"])


@pytest.mark.parametrize(
    ("node_type", "written"),
    [
        ("for", {"RANGE": "1..2", "Do": "n", "MODE": "1", "Concurrency": "7"}),
        ("while", {"Condition": "true", "DO": "n", "mode": 1.0, "MaxRounds": "7"}),
        ("groupAction", {"nodeids": "n", "MATCHNUM": "1", "TIMEOUT": "7", "mergetomap": "true"}),
        ("groupFilter", {"NodeIds": ["n"], "allmatches": 1, "Timeout": "7"}),
        ("ref", {"TARGETID": "n", "tellchain": "true"}),
        ("flow", {"targetid": "other", "EXTEND": "1"}),
    ],
)
def test_options_are_read_whatever_their_case_and_from_text(
    engine: Engine, node_type: str, written: dict[str, Any]
) -> None:
    nodes = [{"id": "a", "type": node_type, "configuration": written}, {"id": "n", "type": "comment"}]
    ways = [{"fromId": "a", "type": "Failure", "toId": "n"}]
    assert engine.check({"metadata": {"nodes": nodes, "connections": ways}}) == []
