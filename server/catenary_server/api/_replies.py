"""Answers and parameters that several operations have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from catenary_server.api_error import ApiError, problem_dict
from catenary_server.operation import Parameter, Reply

if TYPE_CHECKING:
    from catenary.chain import Chain
    from catenary_server.call import Call
    from catenary_server.service import Service

CHAIN_ID: Final = Parameter(name="chainId", place="path", text="The id of the chain, or its alias.")
RUN_ID: Final = Parameter(name="runId", place="path", text="The id of the run.")

CHAIN: Final = Parameter(name="chain", text="Only those of the chain with this id.")

NOT_FOUND: Final = Reply(text="There is nothing with this id.", schema="Error")
INVALID: Final = Reply(text="The chain has errors; `problems` has all of them.", schema="Error")
CONFLICT: Final = Reply(text="It does not go together with what there is.", schema="Error")
MEDIA: Final = Reply(text="The body is of a type that is not understood here.", schema="Error")
TOO_LARGE: Final = Reply(text="The body is too large.", schema="Error")
READ_ONLY: Final = Reply(text="The server does not let clients change chains.", schema="Error")
BAD_BODY: Final = {413: TOO_LARGE, 415: MEDIA}


def chain_of(call: Call) -> Chain:
    """Give the chain that the path names. Raises: ApiError: when there is none."""
    from catenary.errors import EngineError

    name = call.parts["chainId"]
    try:
        return call.service.engine.get(name)
    except EngineError as error:
        raise _unserved(call.service, name) or ApiError(
            404, "chain.not-found", f"there is no chain {name!r}", hint=error.hint
        ) from None


def _unserved(service: Service, chain_id: str) -> ApiError | None:
    """Give the error for a chain that has a file and is not in service; `None` when it has none."""
    report = service.report
    files = [file for file, name in report.names.items() if name == chain_id] if report else []
    if report is None or not files:
        return None
    problems = report.problems.get(files[0], [])
    if not problems:
        hint = "set ruleChain.disabled to false in the file"
        return ApiError(404, "chain.disabled", f"the chain {chain_id!r} is disabled in {files[0]}", hint=hint)
    text = f"the chain {chain_id!r} is not in service, as its file has errors: {problems[0]}"
    hint = problems[0].hint or "mend the file"
    return ApiError(404, "chain.broken", text, hint=hint, problems=[problem_dict(problem) for problem in problems])


def unknown_run(service: Service, run_id: str) -> ApiError:
    """Give the error for a run that nobody knows."""
    hint = "GET /api/v1/runs lists those that are known"
    if service.engine.history is None:
        hint += "; runs are recorded when the server is started with --record"
    return ApiError(404, "run.not-found", f"there is no run {run_id!r}", hint=hint)
