"""The example programs run, and print what they are there to show."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"

PRINTS = {
    "sensor_pipeline.py": """
{'id': 'a', 'alarm': False}
{'id': 'b', 'alarm': True, 'over': 11}
{'id': 'd', 'alarm': True, 'over': 4}
""",
    "own_component.py": """
watch Success {"level":4}
tell Success from 4 to 5
watch Stuck {"level":5}
""",
    "agent_with_tools.py": """
uses weather
uses trains
Take the 08:25 from Oslo, and an umbrella: it rains in Bergen.
3 steps, 2 calls of tools
""",
    "agent_in_python.py": """
uses weather
It rains in Bergen: take an umbrella.
As you like.
9 messages, the sixth one is the answer that was interrupted:
['1', '2', '3', '4', '5']
as a chain it is {'id': 'planner', 'name': 'Planner', 'root': True}
""",
    "pandas_job.py": """
 order  total
     1     24
     2      5
     4      6
no price: [3]
""",
    "asyncio_service.py": """
Hello Ann
Hello Bob
Hello Cid
error
""",
    "fastapi_service.py": """
{'costs': 12}
{'detail': 'we do not sell that'}
{'text': 'Hello Ann'}
10 completed
['hello', 'price']
""",
    "many_processes.py": """
7 [1, 7]
8 8
9 [1, 3, 9]
15 [1, 3, 5, 15]
""",
}


pytestmark = pytest.mark.timeout(60)  # each starts a program


def output_of(name: str) -> str:
    command = [sys.executable, "-W", "error", str(EXAMPLES / name)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
    return ran.stdout


@pytest.mark.parametrize("name", PRINTS)
def test_an_example_prints_what_it_shows(name: str) -> None:
    assert output_of(name) == PRINTS[name].removeprefix("\n")


def test_the_events_of_a_run_come_in_order() -> None:
    lines = output_of("stream_events.py").splitlines()

    assert (lines[0], lines[-1]) == ("run.start", "run.complete")
    assert lines.index("-> both") > max(lines.index("<- stock by Success"), lines.index("<- price by Success"))
    assert "==" in lines[-2]


def test_every_example_is_tested_and_listed() -> None:
    programs = {path.name for path in EXAMPLES.glob("*.py")}

    assert programs == {*PRINTS, "stream_events.py"}
    assert programs == set(re.findall(r"\]\((\w+\.py)\)", (EXAMPLES / "README.md").read_text()))
