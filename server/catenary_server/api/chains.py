"""`/api/v1/chains`: the chains that are in service, and changing them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from starlette.responses import Response

from catenary.errors import ChainError, EngineError
from catenary_server import schemas
from catenary_server.api._replies import BAD_BODY, CHAIN_ID, CONFLICT, INVALID, NOT_FOUND, READ_ONLY, chain_of
from catenary_server.api_error import ApiError, api_error_of, json_response, problem_dict
from catenary_server.chain_source import ChainSource, etag_of, file_of, save, unsaved
from catenary_server.operation import JSON_TYPE, Body, Operation, Parameter, Reply

if TYPE_CHECKING:
    from collections.abc import Sequence

    from catenary.chain import Chain
    from catenary.errors import Problem
    from catenary_server.call import Call
    from catenary_server.service import Service

YAML_TYPES: Final = ("application/yaml", "application/x-yaml", "text/yaml")


async def list_chains(call: Call) -> Response:
    """Give the chains that are in service, and the files that are not."""
    service = call.service
    chains = sorted(service.engine.chains.values(), key=lambda chain: chain.id)
    served = {str(path) for chain in chains if (path := file_of(service, chain.id))}
    broken = [
        {"id": report.names[file], "file": file, "problems": [problem_dict(problem) for problem in problems]}
        for report in ([service.report] if service.report else ())
        for file, problems in report.problems.items()
        if file not in served
    ]
    return json_response(
        {
            "chains": [_summary(service, chain) for chain in chains],
            "broken": broken,
            "disabled": list(service.report.disabled) if service.report else [],
        }
    )


async def get_chain(call: Call) -> Response:
    """Give one chain as it is written, its secrets masked."""
    chain = chain_of(call)
    return json_response(_whole(call.service, chain), headers={"etag": etag_of(chain)})


async def create_chain(call: Call) -> Response:
    """Take a chain into service whose id is not in use."""
    _check_writable(call)
    source = await _source(call)
    if not source.chain_id:
        hint = "write ruleChain.id, or PUT it under /api/v1/chains/ID"
        raise ApiError(422, "chain.no-id", "the chain has no id", hint=hint)
    if source.chain_id in call.service.engine.chains:
        hint = f"PUT /api/v1/chains/{quote(source.chain_id, safe='')} replaces it"
        raise ApiError(409, "chain.duplicate-id", f"there is a chain {source.chain_id!r} already", hint=hint)
    chain = await _take_over(call, source, source.chain_id)
    place = f"{call.request.scope.get('root_path', '')}/api/v1/chains/{quote(chain.id, safe='')}"
    return json_response(_whole(call.service, chain), 201, {"etag": etag_of(chain), "location": place})


async def put_chain(call: Call) -> Response:
    """Replace a chain, or take one into service."""
    _check_writable(call)
    source = await _source(call, call.parts["chainId"])
    before = _present(call)
    chain_id = call.parts["chainId"] if before is None else before.id
    if source.chain_id not in {"", chain_id, before.definition.id if before else ""}:
        text = f"the chain says that its id is {source.chain_id!r}, and the path means {chain_id!r}"
        hint = f"write ruleChain.id {chain_id!r} or leave it out, or PUT it under its own id"
        raise ApiError(409, "chain.other-id", text, hint=hint)
    _check_conditions(call, before)
    chain = await _take_over(call, source, chain_id)
    headers = {"etag": etag_of(chain)}
    return json_response(_whole(call.service, chain), 201 if before is None else 200, headers)


async def delete_chain(call: Call) -> Response:
    """Stop a chain; runs on it have time to finish."""
    _check_writable(call)
    chain = chain_of(call)
    if chain.id != call.parts["chainId"]:
        text = f"the chain {chain.id!r} is also called {call.parts['chainId']!r}, and only goes by its own id"
        hint = f"DELETE /api/v1/chains/{quote(chain.id, safe='')} takes it out of service"
        raise ApiError(409, "chain.other-id", text, hint=hint)
    _check_conditions(call, chain)
    if call.query.get("save"):
        await asyncio.to_thread(unsaved, call.service, chain.id)
    try:
        await call.service.engine.stop(chain.id)
    except EngineError as error:  # somebody else was quicker
        raise ApiError(404, "chain.not-found", f"there is no chain {chain.id!r}", hint=error.hint) from None
    return Response(status_code=204)


async def check_chain(call: Call) -> Response:
    """Say what is wrong with a chain; nothing is opened or kept."""
    source = await _source(call)
    try:
        problems = await asyncio.to_thread(call.service.engine.check, source.document)
    except ChainError as error:
        raise api_error_of(error, without_file=True) from None
    ok = not any(problem.severity == "error" for problem in problems)
    return json_response({"ok": ok, "problems": [problem_dict(one, without_file=True) for one in problems]})


def _check_writable(call: Call) -> None:
    if call.service.settings.read_only:
        hint = "start it without --read-only"
        raise ApiError(403, "server.read-only", "this server does not let clients change chains", hint=hint)


async def _source(call: Call, chain_id: str | None = None) -> ChainSource:
    """Read the chain that the body has. Raises: ApiError: when it is none."""
    call.check_media(JSON_TYPE, *YAML_TYPES)
    text = await call.text()
    is_yaml = call.media in YAML_TYPES
    try:
        return await asyncio.to_thread(ChainSource.read, call.service, text, is_yaml=is_yaml, chain_id=chain_id)
    except ChainError as error:
        raise api_error_of(error, without_file=True) from None


def _present(call: Call) -> Chain | None:
    try:
        return chain_of(call)
    except ApiError:
        return None


def _check_conditions(call: Call, chain: Chain | None) -> None:
    """See that the chain is the version that the client means. Raises: ApiError: when it is another one."""
    headers = call.request.headers
    present = None if chain is None else etag_of(chain)
    wanted = [tag.strip().removeprefix("W/") for tag in headers.get("if-match", "").split(",") if tag.strip()]
    if wanted and not (present in wanted or (present is not None and wanted == ["*"])):
        text = f"the chain is at {present} by now" if present else "the chain is not there"
        raise ApiError(412, "chain.changed", text, hint="get it again, and send the ETag of that with your change")
    if headers.get("if-none-match", "").strip() == "*" and present is not None:
        raise ApiError(412, "chain.changed", f"the chain is there already, at {present}")


async def _take_over(call: Call, source: ChainSource, chain_id: str) -> Chain:
    """Bring a chain into service, and write it to the folder when the client asks for that."""
    service = call.service
    try:
        if call.query.get("save"):
            return await asyncio.to_thread(save, service, source, chain_id)
        return await asyncio.to_thread(service.engine.reload, source.document, id=chain_id)
    except ChainError as error:
        raise api_error_of(error, without_file=True) from None
    except EngineError as error:
        raise ApiError(409, error.code, str(error), hint=error.hint) from None


def _summary(service: Service, chain: Chain) -> dict[str, Any]:
    definition = chain.definition
    path = file_of(service, chain.id)
    problems: Sequence[Problem] = ()
    if service.report is not None and path is not None:
        problems = service.report.problems.get(str(path), ())
    return {
        "id": chain.id,
        "name": definition.name,
        "version": chain.version,
        "nodes": len(definition.nodes),
        "endpoints": len(definition.endpoints),
        "file": None if path is None else str(path),
        "problems": [problem_dict(one, without_file=path is None) for one in problems or chain.warnings],
    }


def _whole(service: Service, chain: Chain) -> dict[str, Any]:
    return {**_summary(service, chain), "definition": dict(chain.as_written())}


_SAVE: Final = Parameter(
    name="save",
    schema=schemas.FLAG,
    text="`true` also writes the change to the folder that is served: to the file that the chain came from, else to"
    " `ID.json` or `ID.yaml`. Without it a change lasts as long as the server.",
)
_CONDITION: Final = Parameter(
    name="If-Match",
    place="header",
    schema={"type": "string", "maxLength": 500, "pattern": r"^[!-~ ]*$"},
    text="The `ETag` of the version that is meant; with any other one nothing is changed.",
)
_FRESH: Final = Parameter(
    name="If-None-Match",
    place="header",
    schema={"type": "string", "enum": ["*"]},
    text="`*`: only if there is no such chain.",
)
_CHANGED: Final = Reply(text="The chain is at another version.", schema="Error")
_ETAG: Final = {"ETag": "Names the version."}
_EXAMPLE: Final = {
    "ruleChain": {"id": "hot"},
    "metadata": {"nodes": [{"id": "is_hot", "type": "exprFilter", "configuration": {"expr": "msg.t > 30"}}]},
}
_CHAIN_BODY: Final = Body(
    text="A chain, as [JSON or YAML](../chain-reference.md). Where the present version has a secret, `****` keeps it.",
    schema={"type": "object", "description": "See `GET /api/v1/schema`."},
    media=(JSON_TYPE, YAML_TYPES[0]),
    example=_EXAMPLE,
)
_CHANGES: Final = {403: READ_ONLY, 409: CONFLICT, 412: _CHANGED, **BAD_BODY, 422: INVALID}

OPERATIONS: Final = (
    Operation(
        method="GET",
        path="/api/v1/chains",
        name="listChains",
        tag="Chains",
        summary="List the chains in service",
        text="`problems` are the warnings of the version that is in service, or what is wrong with the file of a chain"
        " that runs on in its last good version, as its file is broken. `broken`"
        " are the files that have no version in service; the `id` of one that cannot be read is its name.",
        handler=list_chains,
        replies={
            200: Reply(
                text="The chains.",
                schema=schemas.whole(
                    {
                        "chains": schemas.listed(schemas.ref("ChainSummary")),
                        "broken": schemas.listed(
                            schemas.whole(
                                {
                                    "id": schemas.TEXT,
                                    "file": schemas.TEXT,
                                    "problems": schemas.listed(schemas.ref("Problem")),
                                }
                            )
                        ),
                        "disabled": schemas.listed(schemas.TEXT),
                    }
                ),
            )
        },
    ),
    Operation(
        method="POST",
        path="/api/v1/chains",
        name="createChain",
        tag="Chains",
        summary="Take a new chain into service",
        parameters=(_SAVE,),
        body=_CHAIN_BODY,
        handler=create_chain,
        replies={
            201: Reply(text="It is in service.", schema="Chain", headers={**_ETAG, "Location": "Where it is."}),
            **{status: reply for status, reply in _CHANGES.items() if status != 412},
        },
    ),
    Operation(
        method="GET",
        path="/api/v1/chains/{chainId}",
        name="getChain",
        tag="Chains",
        summary="Look at one chain",
        text="Placeholders stand as they are written, and secrets are `****`.",
        parameters=(CHAIN_ID,),
        handler=get_chain,
        replies={200: Reply(text="The chain.", schema="Chain", headers=_ETAG), 404: NOT_FOUND},
    ),
    Operation(
        method="PUT",
        path="/api/v1/chains/{chainId}",
        name="putChain",
        tag="Chains",
        summary="Replace a chain, or take one into service",
        text="Runs finish on the version they began with. A chain with errors is refused, and the present version"
        " stays in service. The chain has the id of the path, or none.",
        parameters=(CHAIN_ID, _SAVE, _CONDITION, _FRESH),
        body=_CHAIN_BODY,
        handler=put_chain,
        replies={
            200: Reply(text="It is replaced.", schema="Chain", headers=_ETAG),
            201: Reply(text="It is in service.", schema="Chain", headers=_ETAG),
            **_CHANGES,
        },
    ),
    Operation(
        method="DELETE",
        path="/api/v1/chains/{chainId}",
        name="deleteChain",
        tag="Chains",
        summary="Take a chain out of service",
        text="Runs on it have ten seconds to finish. `save=true` deletes its file.",
        parameters=(
            Parameter(name="chainId", place="path", text="Its own id; an alias will not do."),
            _SAVE,
            _CONDITION,
        ),
        handler=delete_chain,
        replies={
            204: Reply(text="It is out of service."),
            403: READ_ONLY,
            404: NOT_FOUND,
            409: CONFLICT,
            412: _CHANGED,
        },
    ),
    Operation(
        method="POST",
        path="/api/v1/check",
        name="checkChain",
        tag="Chains",
        summary="Say what is wrong with a chain",
        text="All problems at once, warnings included. Nothing is opened, and nothing is kept.",
        body=_CHAIN_BODY,
        handler=check_chain,
        replies={200: Reply(text="What is wrong.", schema="Checked"), **BAD_BODY, 422: INVALID},
    ),
)
