"""No command hides: what a real bash tries to run is compared with what was read."""

from __future__ import annotations

import shutil
import subprocess
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.cases import times

from catenary_components.ai.tools.builtin.shell import ShellSyntaxError, parse
from catenary_components.ai.tools.builtin.shell.judge import read_calls

if TYPE_CHECKING:
    from pathlib import Path

BASH = shutil.which("bash") or ""
pytestmark = pytest.mark.skipif(not BASH, reason="there is no bash")

# Every command that bash does not find is written down; there is nothing that it finds.
_HANDLER = 'command_not_found_handle() { builtin printf "%s\\001" "$1" >> "$RAN_LOG"; return 0; }\n'
_BUILTINS = {"echo", "test", "[", "true", "false", ":", "cd", "read", "printf"}

_COMMANDS = ["c1", "c2 a", "c3 'q r' $x", 'c4 "a b"', "x=1", "x=c5 c6", "true", "false", "echo hi", "c7 -o"]
_PIECES = [
    *_COMMANDS,
    *_COMMANDS,
    " ",
    "\n",
    ";",
    ";;",
    "&&",
    "||",
    "|",
    "&",
    "(",
    ")",
    "{ ",
    "; }",
    "$(",
    "`",
    "<(",
    ">(",
    "'",
    '"',
    "\\",
    "\\\n",
    "#",
    " #",
    "if ",
    "then ",
    "; fi",
    "else ",
    "for i in a b; do ",
    "; done",
    "case a in a) ",
    ";; esac",
    "in",
    "esac",
    "$((",
    "))",
    "1+1",
    "${x}",
    "${x:-",
    "}",
    "$x",
    "<<E\n",
    "\nE\n",
    "<<'E'\n",
    "<<-E\n\t",
    ">f ",
    "2>&1",
    "<f",
    "[[ ",
    " ]]",
    "((",
    "f() ",
    "function g ",
    "!",
    "time ",
    "$'",
    "\\'",
    "a=(",
    "=",
    "~",
    "*",
    "{a,b}",
    "eval ",
    "[",
    "]",
    "-eq 1",
    "=~",
    "&>",
    "|&",
    "<<<",
    "\t",
    "é",
    "\u00a0",
    "\u2003",
    "$",
    "a[",
    "@",
    "${x@P}",
    "${!x}",
    "${#x}",
]

SCRIPTS = st.lists(st.sampled_from(_PIECES), min_size=1, max_size=14).map("".join)


def _ran(script: str, folder: Path) -> set[str]:
    """Give the names of the commands that bash looked for."""
    work, log = folder / "work", folder / "ran.log"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    log.write_text("")
    (folder / "env").write_text(_HANDLER)
    environment = {"BASH_ENV": str(folder / "env"), "PATH": "/nonexistent", "RAN_LOG": str(log), "LC_ALL": "C.UTF-8"}
    limited = f'ulimit -t 1 -f 100; exec {BASH} -c "$0"'
    with suppress(subprocess.TimeoutExpired):
        subprocess.run(
            [BASH, "--norc", "-c", limited, script],
            env=environment,
            cwd=work,
            timeout=2,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
    return {line for line in log.read_text(errors="replace").split("\x01") if line}


def _read(script: str) -> set[str] | None:
    """Give the names that were read; `None` when the script is refused."""
    try:
        return {call.name for call in read_calls(script)[1]}
    except ShellSyntaxError:
        return None


@given(SCRIPTS)
@settings(max_examples=times(150), deadline=None, suppress_health_check=list(HealthCheck))
def test_whatever_bash_runs_was_read(tmp_path_factory: pytest.TempPathFactory, script: str) -> None:
    names = _read(script)
    if names is None:
        return
    ran = _ran(script, tmp_path_factory.mktemp("shell"))
    functions = parse(script).functions
    assert ran <= names | functions, f"{script!r}: ran {ran}, read {names}"


ATTACKS = [
    "c1&>f",
    "true 1&>f; c1",
    "echo $(c1)",
    "echo `c1`",
    "cat <(c1)",
    'echo "$(c1)"',
    "echo ${x:-$(c1)}",
    "echo $(echo $(c1))",
    "(c1)",
    "{ c1; }",
    'echo "${x:-`c1`}"',
    "x=$(c1)",
    "x=$(c1) true",
    "a=($(c1))",
    "echo a >$(c1)",
    "cat <<E\n$(c1)\nE",
    "cat <<E\n`c1`\nE\n",
    "if c1; then c2; fi",
    "while c1; do break; done",
    "case $(c1) in *) c2;; esac",
    "for i in $(c1); do c2; done",
    "! c1",
    "f() { c1; }; f",
    "function f { c1; }; f",
    "time c1",
    "eval c1",
    "eval 'true; c1'",
    "bash -c c1",
    "[[ -n $(c1) ]]",
    "echo $'a' $(c1)",
    "true && c1",
    "false || c1",
    "true & c1",
    "true; c1",
    "true\nc1",
    "true |c1",
    "true |& c1",
    "echo 'a'$(c1)",
    'echo "\'"$(c1)"\'"',
    "echo '\\'; c1 #'",
    "c\\1",
    "'c1'",
    "c''1",
    '"c1"',
    "$'c1'",
    "$'\\x631'",
    "cat <<'E'\n$(c2)\nE\nc1",
    "cat <<E; c1\nx\nE",
    "echo \\\n; c1",
    "echo a # b\nc1",
    "echo a#b; c1",
    "x='a[$(c1)]'; echo $((x))",
    "declare 'a[$(c1)]=1'",
    "test -v 'a[$(c1)]'",
    "printf -v 'a[$(c1)]' x",
    "read 'a[$(c1)]' <<< x",
    "unset 'a[$(c1)]'",
    "x='$(c1)'; echo \"${x@P}\"",
    "PS4='$(c1)'; set -x; true",
    "trap c1 EXIT",
    "trap 'c1' 0",
    "shopt -s expand_aliases\nalias a=c1\na",
    "a=b[\\$(c1)]; ((a))",
    "x='b[$(c1)]'; [[ $x -eq 1 ]]",
    "x='b[$(c1)]'; echo ${y:x}",
    "x='b[$(c1)]'; echo ${y[x]}",
    "let 'a[$(c1)]=1'",
    "x='a[$(c1)]'; y=x; echo $((y))",
    "true '\n' \nc1",
    "case a in a) c1;; esac",
    "case a in (a) c1 ;& b) c2;; esac",
    "echo 'a[$(c1)]'; echo $((_))",
    "mapfile -C c1 -c 1 <<< x",
    "complete -C c1 x",
    "{true,c1}",
    "c{1,}",
    "command c1",
    "builtin eval c1",
    "exec c1",
    "coproc c1",
    "coproc x { c1; }",
    "select i in a; do c1; break; done <<< 1",
    "hash -p /bin/true true; c1",
    "c1 2>&1",
    ">f c1",
    "2>f c1",
    "<<<x c1",
    "x=1 y=2 c1",
    "a[0]=1 c1",
    "cat <<E && (true\nE\ntrue)\nc1\nE",
    "[[ a == b # '\n ]]; c1 #'\n",
    'echo "a\\"$(c1)"',
    'echo "`echo \\"; c1`"',
    "echo $((1)) $(c1)",
    "$(c1)",
    "`c1`",
    "$(echo c1)",
    "x=c1; $x",
    '"$(echo c1)"',
]


@pytest.mark.parametrize("script", ATTACKS)
def test_no_known_trick_hides_a_command(tmp_path: Path, script: str) -> None:
    names = _read(script)
    ran = _ran(script, tmp_path)
    assert names is None or ran <= names | parse(script).functions
    assert names is None or "c1" in names, "what runs it must be seen, even where bash does not run it"


def test_a_number_before_an_ampersand_is_a_word() -> None:
    assert _read("1&>f") == {"1"}
    assert _read("1>f c1") == {"c1"}
