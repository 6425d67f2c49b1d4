"""Which process a running run belongs to, and whether it is still there."""

from __future__ import annotations

import os
import socket
import sys
from functools import cache
from pathlib import Path


def this_process() -> str:
    """Name this process: host, number, and when it began, for numbers are given out again."""
    number = os.getpid()
    return f"{_host()}:{number}:{_born(number)}"


def is_gone(name: str) -> bool:
    """Tell whether a process is known to be over; of one on another host nothing is known."""
    host, number, born = name.rsplit(":", 2)
    if host != _host() or not number.isdigit():
        return False
    return not _is_there(int(number)) or _born(int(number)) != born


def _is_there(number: int) -> bool:
    if sys.platform == "win32":  # there, asking would end the process
        return True
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    except OSError:  # it is there, and somebody else's
        return True
    return True


def _born(number: int) -> str:
    """Give when a process began, in ticks since the machine did; empty when it is over or the system does not tell."""
    try:
        text = Path(f"/proc/{number}/stat").read_text()
    except OSError:
        return ""
    state, *rest = text.rpartition(")")[2].split()  # the name before it may hold spaces and brackets
    return "" if state in {"Z", "X"} else rest[18]  # over, and not asked for its exit code yet


@cache
def _host() -> str:
    return socket.gethostname()
