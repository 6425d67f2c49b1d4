"""Runs that begin elsewhere: at several nodes, behind nodes, with messages of their own, or without what follows."""

from __future__ import annotations

import pytest
from tests.engine.runtime.kit import END, join, limited, line, load, ways

from catenary import SUCCESS, Message
from catenary.options import Restart
from catenary.runtime.begin import Arrived
from catenary.runtime.ends import Arrival

WORD = Message("x", "", "TEXT")


def mark(ctx, msg):
    return SUCCESS, msg.with_data(f"{msg.text}{ctx.node_id}", "TEXT")


def texts(outcome):
    return [(f"{end.node_id} {end.relation}", end.message.text) for end in outcome.ends]


def test_start_after_runs_what_follows_and_not_the_node(engine):
    seen = []

    def note(ctx, msg):
        seen.append((ctx.node_id, ctx.sender, ctx.relation))
        return SUCCESS

    chain = load(engine, {"a": note, "b": note, "c": note}, ["a b", "a Other c"])
    assert ways(chain.run_sync(WORD, start_after={"a": "Other"})) == ["c Success"]
    assert ways(chain.run_sync(WORD, start_after={"a": ["Success", "Other"]})) == ["b Success", "c Success"]
    assert seen == [("c", "a", "Other"), ("b", "a", "Success"), ("c", "a", "Other")]


def test_unknown_relation_ends_the_branch_at_its_node(engine):
    events = []
    outcome = load(engine, {"a": None, "b": None}, ["a b"]).run_sync(
        WORD, start_after={"a": "Nope"}, listener=events.append
    )
    assert (ways(outcome), outcome.ok) == (["a Nope"], True)
    assert [event.name for event in events] == ["run.start", "branch.end", "run.complete"]


def test_start_after_without_a_relation_is_refused(engine):
    outcome = load(engine, {"a": None}).run_sync(WORD, start_after={"a": []})
    assert str(outcome.error) == "start_after of node 'a' names no relation"


def test_restored_branches_meet_in_the_join_below(engine):
    nodes = {"s": None, "a": mark, "b": mark, "c": mark, "j": join()}
    chain = load(engine, nodes, ["s a", "s b", "s c", "a j", "b j", "c j"])
    own = Message("y", "", "TEXT")
    assert texts(chain.run_sync(WORD, restore=[Restart("a"), Restart("b", message=own)])) == [("j Success", "xa+yb")]
    assert texts(chain.run_sync(WORD, restore=[Restart("c", "Success", own), Restart("a")])) == [("j Success", "xa+y")]
    assert texts(chain.run_sync(WORD, restore=[Restart("b")])) == [("j Success", "xb")], "the others are not waited for"


def test_all_kinds_of_beginnings_count_together(engine):
    chain = load(engine, {"a": mark, "b": mark, "c": mark, "j": join()}, ["a j", "b j", "c j"])
    outcome = chain.run_sync(
        WORD, start=iter(["a"]), start_after={"b": iter(["Success"])}, restore=iter([Restart("c")])
    )
    assert texts(outcome) == [("j Success", "x+xa+xc")]


def test_restore_at_a_join_with_a_quorum(engine):
    chain = load(engine, {"a": None, "j": limited(quorum=2)}, ["a j"])
    assert ways(chain.run_sync(WORD, start=["j", "j", "a"])) == ["j Success", "j Late"]


def test_unknown_node_among_several_is_named(engine):
    outcome = load(engine, {"a": None}).run_sync(WORD, restore=[Restart("a"), Restart("z")])
    assert (outcome.status, str(outcome.error)) == ("failed", "restore parent node id=z not found")


def test_skip_tell_next_runs_the_node_alone_and_gates_nothing(engine):
    chain = load(engine, {"a": None, "b": None, "e": END}, line("a", "b", "e"))
    outcome = chain.run_sync(WORD, skip_tell_next=True)
    assert [(end.node_id, end.relation, end.gated) for end in outcome.ends] == [("a", "Success", False)]
    assert ways(chain.run_sync(WORD, start="b", skip_tell_next=True)) == ["b Success"]


def test_skip_tell_next_behind_a_node_runs_what_follows_first(engine):
    seen = []

    def note(ctx, msg):
        seen.append((ctx.node_id, ctx.sender))
        return SUCCESS

    chain = load(engine, {"a": note, "b": note, "c": note, "j": join()}, ["a b", "a c", "b j", "c j"])
    outcome = chain.run_sync(WORD, start_after={"a": "Success"}, skip_tell_next=True)
    assert (seen, ways(outcome)) == ([("b", "a"), ("c", "a")], ["b Success", "c Success"])
    assert ways(chain.run_sync(WORD, start_after={"a": "Nope"}, skip_tell_next=True)) == ["a Nope"]


def test_skip_tell_next_lets_a_join_gather_once(engine):
    chain = load(engine, {"a": None, "b": None, "j": join(), "k": None}, ["a j", "b j", "j k"])
    outcome = chain.run_sync(WORD, start_after={"a": "Success", "b": "Success"}, skip_tell_next=True)
    assert texts(outcome) == [("j Success", "x+x")]


def test_chain_without_nodes_fails_whatever_is_asked_for(engine):
    outcome = load(engine, {}).run_sync(WORD, skip_tell_next=True)
    assert outcome.message.metadata["errorMsg"] == "the rule chain has no nodes"


@pytest.mark.parametrize("written", [{}, {"onFailure": "stop"}])
def test_chain_without_nodes_fails_the_same_way_whether_failures_stop_it_or_not(engine, written):
    outcome = load(engine, {}, **written).run_sync(WORD)
    assert (outcome.status, str(outcome.error)) == ("failed", "the rule chain has no nodes")
    assert texts(outcome) == [(" Failure", "x")]


def test_run_id_is_the_one_given(engine):
    seen = []
    load(engine, {"a": lambda ctx, msg: seen.append(ctx.run_id)}).run_sync(WORD, run_id="mine")
    assert seen == ["mine"]


@pytest.mark.parametrize("options", [{}, {"start": None, "timeout": None, "scope": None, "listener": None}])
def test_absent_and_none_are_the_same(engine, options):
    assert ways(load(engine, {"a": None}).run_sync(WORD, **options)) == ["a Success"]


def restored(engine, *arrived, **limits):
    seen = []

    def note(ctx, arrivals):
        seen.extend((arrival.sender, arrival.message.text) for arrival in arrivals)
        return SUCCESS, arrivals[0].message

    joining = limited(note, **limits) if limits else join(note)
    chain = load(engine, {"s": None, "a": mark, "b": mark, "j": joining}, ["s a", "s b", "a j", "b j"])
    return chain.run_sync(WORD, restore=[Restart("b"), *arrived]), seen


def test_what_had_arrived_at_a_join_is_there_in_the_run_that_goes_on(engine):
    kept = Arrived("j", arrivals=(Arrival(Message("xa", "", "TEXT"), "a", None, SUCCESS),))
    outcome, seen = restored(engine, kept)
    assert seen == [("a", "xa"), ("b", "xb")]
    assert texts(outcome) == [("j Success", "xa")]


def test_what_comes_to_a_join_is_late_in_a_run_that_goes_on_after_it_went_on_early(engine):
    outcome, seen = restored(engine, Arrived("j", is_closed=True), quorum=1)
    assert seen == []
    assert texts(outcome) == [("j Late", "xb")]
