"""The page of the chain language lists every key of every model, and its example is a chain."""

from __future__ import annotations

import re
from dataclasses import fields

import pytest
from pydantic.alias_generators import to_camel

from catenary.definition import ChainDefinition, Connection, EndpointDefinition, NodeDefinition, Retry
from catenary.docsgen.chain import chain_page
from catenary.load.settings import ChainSettings

SECTIONS = {
    "`nodes[]`": NodeDefinition,
    "`nodes[].retry`": Retry,
    "`connections[]`": Connection,
    "`endpoints[]`": EndpointDefinition,
}


def keys_below(title):
    text = chain_page().split(f"## {title}\n", 1)[1].split("\n## ", 1)[0]
    return re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE)


@pytest.mark.parametrize("title", SECTIONS)
def test_every_key_of_a_model_has_a_row(title):
    names = [field.name for field in fields(SECTIONS[title]) if field.name != "extra"]
    assert keys_below(title) == [to_camel(name.removesuffix("_s")) for name in names]


def test_head_and_body_share_the_keys_of_a_chain():
    names = [field.name for field in fields(ChainDefinition) if not field.name.endswith("extra")]
    assert sorted(keys_below("`ruleChain`") + keys_below("`metadata`")) == sorted(map(to_camel, names))


def test_every_setting_has_a_row():
    assert keys_below("`ruleChain.configuration`") == list(map(to_camel, ChainSettings.model_fields))


def test_every_row_has_an_effect_and_an_example():
    rows = re.findall(r"^\| `\w+` \| (.+) \| .* \| (.+) \| (.+) \|$", chain_page(), re.MULTILINE)
    assert len(rows) > 50
    assert all(effect.endswith(".") and example.startswith("`") for _, effect, example in rows)
