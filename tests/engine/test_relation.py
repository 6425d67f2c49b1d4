"""Relations are texts with a sentence about them."""

from __future__ import annotations

import copy
import pickle

from catenary import FAILURE, SUCCESS, Message, NodeFailure, Relation, fail
from catenary.relation import Failed


def test_relation_equals_its_name():
    assert SUCCESS == "Success"
    assert {"Success": 1}[SUCCESS] == 1
    assert {SUCCESS: 1}["Success"] == 1
    assert SUCCESS != "success"
    assert repr(Relation("A", help="x")) == "Relation('A')"
    assert SUCCESS.help


def test_relation_can_be_copied_and_pickled():
    for made in (copy.deepcopy(SUCCESS), pickle.loads(pickle.dumps(SUCCESS))):
        assert made == SUCCESS
        assert made.help == SUCCESS.help


def test_failed_is_failure_with_an_error():
    error = ValueError("x")
    assert Failed(error) == FAILURE
    assert Failed(error).error is error
    assert hash(Failed(error)) == hash("Failure")


def test_fail_puts_the_text_into_metadata():
    relation, message = fail("text", Message("x"))
    assert relation == "Failure"
    assert isinstance(relation.error, NodeFailure)
    assert (message.metadata["errorMsg"], message.text) == ("text", "x")
    assert fail(KeyError(), Message())[1].metadata["errorMsg"] == "KeyError"


def test_node_failure_carries_a_message():
    message = Message("x")
    assert NodeFailure("t", message).message is message
    assert NodeFailure("t").message is None
