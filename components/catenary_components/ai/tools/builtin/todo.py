"""`todo`: the list of what an agent still has to do, kept with its state."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Literal, cast

from pydantic import Field

from catenary.component import Config
from catenary.jsontext import dumps
from catenary_components.ai.state import AgentState
from catenary_components.ai.tools.builtin.base import Arguments, Builtin, ToolFailure

if TYPE_CHECKING:
    from catenary.component import Context
    from catenary.jsontext import Json

MAX_TODOS = 100
"""Tasks of one list."""

_BOXES = {"pending": "[ ]", "in_progress": "[>]", "completed": "[x]", "cancelled": "[-]"}


class TodoItem(Arguments):
    """One task."""

    subject: str = Field(min_length=1, max_length=500, description="What is to be done, in a few words.")
    status: Literal["pending", "in_progress", "completed", "cancelled"] = Field("pending", description="How far it is.")
    description: str = Field("", max_length=5_000, description="More about it, if there is more to say.")


class TodoArguments(Arguments):
    """The list as it is to be."""

    todos: list[TodoItem] = Field(max_length=MAX_TODOS, description="The whole list; it replaces the one there is.")


class Todo(Builtin[Config, TodoArguments]):
    """Write down the list of your tasks whenever it changes: the whole list replaces the one there is.

    At most one task is in progress at a time; mark a task as completed as soon as it is done.
    """

    name = "todo"
    arguments_type = TodoArguments
    is_read_only = True  # it changes nothing but the agent's own notes
    is_serial = True

    async def run(self, ctx: Context, arguments: TodoArguments) -> str:
        """Replace the list; a task keeps its id as long as its subject stays."""
        subjects = [todo.subject.strip() for todo in arguments.todos]
        if not all(subjects):
            raise ToolFailure("every task needs a subject")
        doubled = next((subject for subject in subjects if subjects.count(subject) > 1), None)
        if doubled is not None:
            raise ToolFailure(f"two tasks are called {doubled!r}; give each a subject of its own")
        in_progress = [todo.subject for todo in arguments.todos if todo.status == "in_progress"]
        if len(in_progress) > 1:
            raise ToolFailure(f"at most one task may be in_progress, but {len(in_progress)} are: {dumps(in_progress)}")
        state = ctx.scope[AgentState]
        state.todos = self._with_ids(arguments.todos, state.todos)
        ctx.notify("todo.update", todos=state.todos)
        return _shown(arguments.todos)

    def _with_ids(self, todos: list[TodoItem], before: list[Json]) -> list[Json]:
        known = {str(one["subject"]): one["id"] for one in cast("list[dict[str, Json]]", before)}
        return [
            {
                "id": known.get(todo.subject.strip()) or uuid.uuid4().hex[:8],
                "subject": todo.subject.strip(),
                "status": todo.status,
                "description": todo.description,
            }
            for todo in todos
        ]


def _shown(todos: list[TodoItem]) -> str:
    if not todos:
        return "The list of tasks is empty."
    done = sum(todo.status == "completed" for todo in todos)
    lines = [f"{_BOXES[todo.status]} {todo.subject}" for todo in todos]
    return "\n".join([f"The list of tasks is saved ({done} of {len(todos)} completed):", *lines])
