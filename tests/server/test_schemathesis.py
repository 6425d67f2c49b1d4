"""The live server does what its live document says: schemathesis makes requests of the one and checks the answers."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cases import times
from tests.server.kit import KEY, started

HERE = Path(__file__).parent
CHAINS = HERE.parents[1] / "chains"


@pytest.mark.timeout(320)
def test_the_api_is_as_its_document_says(tmp_path: Path) -> None:
    folder = tmp_path / "chains"
    folder.mkdir()
    shutil.copy(HERE / "open.yaml", folder)
    shutil.copy(CHAINS / "approval.yaml", folder)
    with started(
        tmp_path, "chains", "--record", "--no-access-log", "--grace", "100ms", CATENARY_API_KEYS=KEY
    ) as server:
        command = [
            str(Path(sys.executable).parent / "schemathesis"),
            f"--config-file={HERE / 'schemathesis.toml'}",
            "run",
            f"{server.url}/openapi.json",
            "--header",
            f"Authorization: Bearer {KEY}",
            f"--max-examples={times(10)}",
            "--request-timeout=10",
            "--no-color",
        ]
        ran = subprocess.run(command, capture_output=True, text=True, timeout=280, check=False, cwd=tmp_path)
        assert ran.returncode == 0, ran.stdout[-6000:] + ran.stderr[-2000:] + server.output[-2000:]
        assert "Traceback" not in server.output
