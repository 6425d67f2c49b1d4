"""Coverage-guided fuzzing of all that reads text: `python -m tests.fuzz.atheris_language SECONDS CORPUS_FOLDER`.

Needs the extra `fuzz`. What it finds interesting is kept in the folder, which lies outside of the tree; a text that
breaks a promise ends it with an error, and stands in a file `crash-*` there.
"""

from __future__ import annotations

import sys
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["catenary.expr", "catenary.load"]):
    from tests.fuzz.targets import TARGETS, check, seeds

NAMES = sorted(set(TARGETS) - {"script"})  # a new context each time would be all that is measured


def one(data: bytes) -> None:
    """Put one text to the target that its first byte chooses."""
    if data:
        check(NAMES[data[0] % len(NAMES)], data[1:].decode("utf-8", "surrogateescape"))


def main() -> None:
    """Fuzz for so many seconds."""
    seconds, folder = int(sys.argv[1]), Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    for number, text in enumerate(seeds()):
        (folder / f"seed-{number}").write_bytes(bytes([number % len(NAMES)]) + text.encode("utf-8", "surrogatepass"))
    limits = [f"-max_total_time={seconds}", "-timeout=15", "-rss_limit_mb=2048", "-max_len=400", "-print_final_stats=0"]
    atheris.Setup([sys.argv[0], *limits, f"-artifact_prefix={folder}/", str(folder)], one)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
