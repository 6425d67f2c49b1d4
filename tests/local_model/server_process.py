"""The process of the model server: `server_process.py MODEL PORT`, until its standard input ends."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

_CONTEXT_TOKENS = 1024
_MOST_TOKENS_A_REPLY = 512
_HTTP_THREADS = 4  # they wait for requests; what computes is one thread


def parameters(xllamacpp: Any, model: str, port: int) -> Any:
    """Give the server's settings: one thread, the loopback address, a small context, no look outside."""
    chosen = xllamacpp.CommonParams()
    chosen.model.path = model
    chosen.hostnames = ["127.0.0.1"]
    chosen.port = port
    chosen.cpuparams.n_threads = chosen.cpuparams_batch.n_threads = 1
    chosen.n_threads_http = _HTTP_THREADS
    chosen.n_gpu_layers = 0
    chosen.n_parallel = 1
    chosen.n_ctx = _CONTEXT_TOKENS
    chosen.n_predict = _MOST_TOKENS_A_REPLY
    chosen.cache_ram_mib = 0
    chosen.offline = True
    chosen.ui = False
    chosen.verbosity = 1
    return chosen


def main() -> None:
    """Serve until the standard input ends: it does so as well when the process at its other end is gone."""
    # By its name, since it is not installed where types are checked.
    xllamacpp: Any = import_module("xllamacpp")
    model, port = sys.argv[1:]
    server = xllamacpp.Server(parameters(xllamacpp, model, int(port)))
    sys.stdin.read()
    del server


if __name__ == "__main__":
    main()
