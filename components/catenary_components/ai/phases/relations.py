"""The relations by which the phases of an agent's loop lead to each other."""

from __future__ import annotations

from catenary import Relation

REASON = Relation("Reason", help="The model is to be asked.")
ACT = Relation("Act", help="Tools that the model asked for earlier are to be run first.")
TOOL_CALLS = Relation("ToolCalls", help="The model asks for tools.")
ANSWER = Relation("Answer", help="The model has given its answer.")
AGAIN = Relation("Again", help="The reply was no use; the model is asked again, and was told why.")
NO_CALLS = Relation("NoCalls", help="The model was to ask for a tool, and did not.")
SUMMARIZE = Relation("Summarize", help="The conversation has to be made shorter before the model is asked again.")
CONTINUE = Relation("Continue", help="The model is to be asked again.")
DIRECT = Relation("Direct", help="A tool ran whose result is the answer.")
LIMIT = Relation("Limit", help="The agent has used what it may use.")
STOPPED = Relation("Stopped", help="Somebody asked the agent to stop.")
AWAIT_CONFIRM = Relation("AwaitConfirm", help="A person has to allow a call of a tool; the run pauses.")
AWAIT_EXTERNAL = Relation("AwaitExternal", help="The result of a call comes from outside; the run pauses.")

ONWARD = (REASON, ACT, TOOL_CALLS, ANSWER, AGAIN, NO_CALLS, SUMMARIZE, CONTINUE, DIRECT, LIMIT, STOPPED)
"""Those that lead from phase to phase: what ends by one of them is no answer."""
