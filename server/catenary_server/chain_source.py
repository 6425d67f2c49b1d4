"""Chains that clients send: reading them, keeping their secrets, and writing them to the folder."""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

from catenary import jsontext
from catenary.errors import ChainInvalid, EngineError
from catenary.load import Document, read
from catenary.masking import MASK
from catenary_server.api_error import ApiError

if TYPE_CHECKING:
    from catenary.chain import Chain
    from catenary_server.service import Service

    _Object: TypeAlias = dict[str, Any]

_YAML: Final = frozenset({".yaml", ".yml"})
_FILE_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


@dataclass(frozen=True, slots=True)
class ChainSource:
    """A chain that a client has sent.

    Attributes:
        text: The text, which has no masked values any more.
        document: The chain that was read from it.
        chain_id: Its own id; may be empty.
        is_yaml: True when it is YAML.
    """

    text: str
    document: Document
    chain_id: str
    is_yaml: bool

    @staticmethod
    def read(service: Service, text: str, *, is_yaml: bool, chain_id: str | None) -> ChainSource:
        """Read a chain; values that stand masked in it are those of the version in service.

        Args:
            service: What has that version.
            text: The text.
            is_yaml: True for YAML, else it is JSON.
            chain_id: The id of that version; that of the chain itself if absent.

        Raises:
            ChainError: When it is no chain.
        """
        suffix = ".yaml" if is_yaml else ".json"
        document = _read(text, f"chain{suffix}")
        value: Any = document.value
        if not isinstance(value, dict):
            raise ChainInvalid(document.problems)
        own_id = document.definition.id
        chain = service.engine.chains.get(chain_id or own_id)
        file = _name_of(service, chain, suffix)
        if chain is not None and MASK in text:
            whole = unmasked(document.value, chain.as_written(), chain.to_dict())
            text = jsontext.dumps_in_order(whole)  # JSON is YAML, too
        return ChainSource(text, _read(text, file), own_id, is_yaml)


def _read(text: str, file: str) -> Document:
    # A text with a line break is never taken for the path of a file.
    return read(text + "\n", file=file)


def _name_of(service: Service, chain: Chain | None, suffix: str) -> str:
    """Give the name under which a chain is read: by its folder it knows which files it may include."""
    path = None if chain is None else file_of(service, chain.id)
    folder = service.folder_path if path is None else path.parent
    return f"chain{suffix}" if folder is None else str(folder / f"chain{suffix}")


def file_of(service: Service, chain_id: str) -> Path | None:
    """Give the file that a chain came from; `None` when it came from none."""
    folder = service.folder
    return None if folder is None else folder.file_of(chain_id)


def etag_of(chain: Chain) -> str:
    """Give what names a version of a chain, also when the server was started anew."""
    digest = hashlib.sha256(jsontext.dumps(chain.to_dict()).encode("utf-8", "replace")).hexdigest()
    return f'"{chain.version}-{digest[:12]}"'


def unmasked(value: Any, masked: Any, real: Any) -> Any:
    """Give a value in which texts that are as they were masked are those that they stand for."""
    if isinstance(value, str) and MASK in value:
        return real if value == masked and isinstance(real, str) else value
    if isinstance(value, dict) and isinstance(masked, dict) and isinstance(real, dict):
        return _unmasked_object(cast("_Object", value), cast("_Object", masked), cast("_Object", real))
    if isinstance(value, list) and isinstance(masked, list) and isinstance(real, list):
        return _unmasked_list(cast("list[Any]", value), cast("list[Any]", masked), cast("list[Any]", real))
    return cast("Any", value)


def _unmasked_object(value: _Object, masked: _Object, real: _Object) -> _Object:
    return {name: unmasked(item, masked.get(name), real.get(name)) for name, item in value.items()}


def _unmasked_list(value: list[Any], masked: list[Any], real: list[Any]) -> list[Any]:
    places = {_key(item, number): number for number, item in enumerate(masked)}
    found = [(item, places.get(_key(item, number))) for number, item in enumerate(value)]
    return [item if at is None else unmasked(item, masked[at], real[at]) for item, at in found]


def _key(item: Any, number: int) -> Any:
    """Tell the items of a list apart: nodes and routers by their ids, all else by where they stand."""
    name = cast("dict[str, Any]", item).get("id") if isinstance(item, dict) else None
    return name if isinstance(name, str) else number


def save(service: Service, source: ChainSource, chain_id: str) -> Chain:
    """Bring a chain into service and write it to its file. It blocks.

    Raises:
        ApiError: When there is no folder, or its id makes no name of a file.
        ChainInvalid: When the chain has errors; then nothing is written.
    """
    folder = service.folder
    if folder is None:
        raise ApiError(409, "server.no-folder", "no folder is served, so nothing can be saved", hint="leave save out")
    path = folder.file_of(chain_id) or _broken_file(service, chain_id) or _new_file(folder.path, chain_id, source)
    problems = [one for one in service.engine.check(source.document) if one.severity == "error"]
    if problems:
        raise ChainInvalid(problems)
    _write(path, _text_for(path, source))
    service.report = folder.refresh()
    try:
        return service.engine.get(chain_id)
    except EngineError:
        found = service.report.problems.get(str(path), [])
        raise ChainInvalid(found) if found else ApiError(409, "chain.not-served", "it is disabled") from None


def unsaved(service: Service, chain_id: str) -> None:
    """Delete the file of a chain, if it has one. It blocks."""
    path = file_of(service, chain_id)
    if path is not None:
        path.unlink(missing_ok=True)


def _broken_file(service: Service, chain_id: str) -> Path | None:
    """Give the file of a chain that is not in service as it has errors."""
    report = service.report
    files = [file for file, name in report.names.items() if name == chain_id] if report else []
    return Path(files[0]) if len(files) == 1 and report and files[0] in report.problems else None


def _new_file(folder: Path, chain_id: str, source: ChainSource) -> Path:
    if not _FILE_NAME.fullmatch(chain_id) or ".test" in chain_id.lower():
        text = f"the id {chain_id!r} makes no name of a file"
        hint = "take letters, digits, '-', '_' and '.' only, or leave save out"
        raise ApiError(409, "chain.file-name", text, hint=hint)
    path = folder / f"{chain_id}{'.yaml' if source.is_yaml else '.json'}"
    if path.exists():
        text = f"there is a file {path.name} already, which has another chain"
        raise ApiError(409, "chain.file-name", text, hint="take another id, or remove the file")
    return path


def _text_for(path: Path, source: ChainSource) -> str:
    """Give the text as it is, when the file is of its kind; else written anew."""
    is_yaml = path.suffix.lower() in _YAML
    if is_yaml == source.is_yaml or (is_yaml and not source.is_yaml):
        return source.text if source.text.endswith("\n") else source.text + "\n"
    import json

    return json.dumps(source.document.value, ensure_ascii=False, indent=2) + "\n"


def _write(path: Path, text: str) -> None:
    """Write a file whole: whoever reads it meanwhile sees the one before."""
    handle, name = tempfile.mkstemp(prefix=".", suffix=".part", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as opened:
            opened.write(text)
            opened.flush()
            os.fsync(opened.fileno())
        Path(name).chmod(path.stat().st_mode & 0o777 if path.exists() else 0o644)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
