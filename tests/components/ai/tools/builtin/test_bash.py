"""`bash` in a real shell."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest
from tests.programs import eventually

from catenary_components.ai.tools.builtin.paths import WorkFolder

if TYPE_CHECKING:
    from catenary.component import Context
    from catenary.jsontext import Json

    from .conftest import Shop


class Limits(dict[float, asyncio.Timeout]):
    """The limits of time that were set, by their seconds; none of them is over by itself."""

    def __call__(self, seconds: float | None) -> asyncio.Timeout:
        limit = self[seconds or 0] = asyncio.Timeout(None)
        return limit

    async def end(self, seconds: float) -> None:
        """Have the time be over; a program may run before its limit is set."""
        await eventually(lambda: seconds in self)
        self[seconds].reschedule(asyncio.get_running_loop().time())


@pytest.fixture
def limits(monkeypatch: pytest.MonkeyPatch) -> Limits:
    """Lets a test say when the time of a command is over: not before it has begun, however long that takes."""
    made = Limits()
    monkeypatch.setattr(asyncio, "timeout", made)
    return made


async def _bash(shop: Shop, command: str, **more: Json) -> str:
    return await shop.call("bash", command=command, **more)


def _output(text: str, name: str = "stdout") -> str:
    found = re.search(rf"^{name}:\n(.*?)(?=\nstderr:\n|\Z)", text, re.DOTALL | re.MULTILINE)
    return found[1].rstrip("\n") if found else ""


async def test_the_result_tells_folder_time_exit_code_and_both_outputs(shop: Shop) -> None:
    text = await _bash(shop, "echo out; echo err >&2; exit 3")
    assert re.fullmatch(
        rf"Work Dir: {re.escape(str(shop.folder))}\nDuration: \d+ms\nExit Code: 3\n-+\nstdout:\nout\n\nstderr:\nerr\n",
        text,
    )


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("echo a b | tr a-z A-Z", "A B"),
        ("for i in 1 2 3; do echo $((i * 2)); done", "2\n4\n6"),
        ('x=$(echo inner); echo "<$x>"', "<inner>"),
        ("cat <<'EOF'\n$(date) `id`\nEOF", "$(date) `id`"),
        ("if [ -d . ]; then echo yes; fi", "yes"),
        ("diff <(echo a) <(echo a) && echo same", "same"),
        ("[[ abc == a* ]] && echo fits", "fits"),
        ("echo 'a;b' && echo \"c|d\"", "a;b\nc|d"),
    ],
)
async def test_the_language_of_the_shell_works(shop: Shop, command: str, output: str) -> None:
    assert _output(await _bash(shop, command)) == output


async def test_further_arguments_are_passed_as_they_are(shop: Shop) -> None:
    text = await _bash(shop, "printf '%s\\n'", args=["a b", "$(id)", "; ls"])
    assert _output(text) == "a b\n$(id)\n; ls"


async def test_a_command_runs_in_the_folder_it_is_given(shop: Shop) -> None:
    (shop.folder / "sub").mkdir()
    assert _output(await _bash(shop, "pwd", work_dir="sub")) == str(shop.folder / "sub")
    assert "must not have .. in it" in await _bash(shop, "pwd", work_dir="sub/../..")
    assert "Path escapes allowed directory - /etc" in await _bash(shop, "pwd", work_dir="/etc")
    assert "there is no folder" in await _bash(shop, "pwd", work_dir="nowhere")


async def test_the_program_around_may_choose_the_folder_of_a_run(shop: Shop, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    shop.visit.scope.set(WorkFolder(str(other)))
    assert _output(await _bash(shop, "pwd")) == str(other)


@pytest.mark.parametrize(
    ("command", "text"),
    [
        ("curl http://127.0.0.1", "Error: Permission denied - command 'curl' not in allow list. Allowed: ["),
        ("echo $(wget x)", "Error: Permission denied - command 'wget' not in allow list. Allowed: ["),
        ("su root", "Error: Permission denied - command 'su' is denied"),
        ("rm -rf /", "Error: Permission denied - command contains denied pattern 'rm -r /'"),
        ("ls --no-preserve-root", "Error: Permission denied - command contains denied pattern '--no-preserve-root'"),
        ("echo 'open", "Error: Permission denied - command cannot be checked: a ' is not closed"),
        ("   ", "Error: Missing command"),
    ],
)
async def test_what_must_not_run_is_refused_in_words_for_the_model(shop: Shop, command: str, text: str) -> None:
    assert (await _bash(shop, command)).startswith(text)


async def test_nothing_of_a_refused_line_runs(shop: Shop) -> None:
    await _bash(shop, "touch made; curl x")
    assert not (shop.folder / "made").exists()


async def test_an_agent_may_have_lists_of_its_own(shop: Shop) -> None:
    shop.make("bash", allow=["echo"])
    assert _output(await _bash(shop, "echo a")) == "a"
    assert "'ls' not in allow list. Allowed: [echo]" in await _bash(shop, "ls")
    shop.make("bash", mode="deny", deny=["ls"], denyArgs=["secret plan"])
    assert _output(await _bash(shop, "uname | wc -l")) == "1"
    assert "'ls' is denied" in await _bash(shop, "sudo env ls")
    assert "denied pattern 'secret plan'" in await _bash(shop, "echo 'the secret  plan'")
    assert _output(await _bash(shop, "echo top-secret planner")) == "top-secret planner"


async def test_a_command_that_takes_too_long_is_told(shop: Shop) -> None:
    text = await _bash(shop, "sleep 59", timeout=0.3)
    assert "Exit Code: -1\nError: the command took longer than 0.3 s" in text


async def test_a_command_whose_time_is_over_is_ended_with_all_that_it_started(shop: Shop, limits: Limits) -> None:
    task = asyncio.create_task(_bash(shop, "echo before; (sleep 60; touch late) & sleep 61", timeout=30))
    await _runs("60", "61")
    await limits.end(30)
    text = await task
    assert "Exit Code: -1\nError: the command took longer than 30 s" in text
    assert _output(text) == "before"
    await _gone("60")


async def test_what_does_not_mind_being_asked_to_end_is_killed(shop: Shop, limits: Limits) -> None:
    task = asyncio.create_task(_bash(shop, "(trap '' TERM; sleep 64) & sleep 65", timeout=30))
    await _runs("64", "65")
    await limits.end(30)
    await task
    await _gone("64")
    await _gone("65")


async def test_what_a_command_leaves_running_is_ended_with_it(shop: Shop) -> None:
    assert "Exit Code: 0" in await _bash(shop, "sleep 66 & echo done")
    await _gone("66")


async def test_cancelling_ends_the_whole_group(shop: Shop) -> None:
    tool = shop.make("bash")
    task = asyncio.create_task(
        cast("Any", tool.work).run(cast("Context", shop.visit), {"command": "sleep 71 & sleep 72"}, "")
    )
    await _runs("71", "72")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await _gone("71")
    await _gone("72")


async def _runs(*seconds: str) -> None:
    """Wait until such programs have begun."""
    while not all(map(_sleeping, seconds)):  # noqa: ASYNC110 - nobody tells
        await asyncio.sleep(0.01)


async def _gone(seconds: str) -> None:
    """Wait until no such program is there; it was killed, which the system may take a moment to show."""
    while _sleeping(seconds):  # noqa: ASYNC110 - nobody tells
        await asyncio.sleep(0.01)


def _sleeping(seconds: str) -> bool:
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and (entry / "cmdline").read_bytes() == f"sleep\0{seconds}\0".encode():
                return (entry / "stat").read_text().rpartition(")")[2].split()[0] != "Z"
        except OSError:
            continue
    return False


async def test_long_output_is_cut_and_kept_whole_in_a_file(shop: Shop) -> None:
    shop.make("bash", maxOutputSize=1000)
    text = await _bash(shop, "seq 1 2000")
    kept = re.search(r"\(the output is cut; all of it is in the file (\S+)\)", text)
    assert kept
    assert shop.text(kept[1]).split() == [str(n) for n in range(1, 2001)]
    assert len(_output(text).partition("\n(the output")[0]) == 1000


async def test_the_end_is_kept_too_when_it_looks_like_an_error(shop: Shop) -> None:
    shop.make("bash", maxOutputSize=1000)
    text = await _bash(shop, "seq 1 2000; echo 'fatal: no such thing'")
    assert "characters left out" in text
    assert "fatal: no such thing" in text
    assert _output(text).startswith("1\n2\n")


async def test_the_folder_of_outputs_cannot_lead_elsewhere(shop: Shop, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (shop.folder / ".tool-output").symlink_to(outside)
    shop.make("bash", maxOutputSize=100)
    assert "could not be kept: Path escapes allowed directory" in await _bash(shop, "seq 1 500")
    assert not list(outside.iterdir())


async def test_output_is_made_readable(shop: Shop) -> None:
    text = await _bash(shop, r"printf '10%%\r50%%\rdone\n\033[31mred\033[0m\n'; printf 'x%.0s' {1..1500}")
    assert _output(text) == f"done\nred\n{'x' * 240}... (1500 bytes in this line)"
    raw = await _bash(shop, r"printf '\033[31mred\033[0m sk-abcdefghijklmnop1234\n' # raw")
    assert _output(raw) == "\x1b[31mred\x1b[0m ****"


@pytest.mark.parametrize(
    "secret",
    [
        "Authorization: Bearer abcdefgh.12345678",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abcDEF123",
        "AKIAABCDEFGHIJKLMNOP",
        "ghp_abcdefghijklmnopqrstuvwxyz0123",
        "sk-proj-abcdefghijklmnop",
        "xoxb-123456789012-abcdef",
        "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEA\n-----END RSA PRIVATE KEY-----",
    ],
)
async def test_secrets_are_taken_out(shop: Shop, secret: str) -> None:
    shop.write("out.txt", f"before\n{secret}\nafter\n")
    for command in ("cat out.txt", "cat out.txt # raw"):
        text = _output(await _bash(shop, command))
        assert "****" in text
        assert secret.split()[-1] not in text
        assert "MIIE" not in text
        assert text.startswith("before\n")
        assert text.endswith("\nafter")


async def test_a_command_gets_a_clean_environment(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SERVICE_TOKEN", "very-secret")
    monkeypatch.setenv("COLOUR", "blue")
    shop.make("bash", environment=["COLOUR"])
    text = _output(await _bash(shop, "env"))
    assert "very-secret" not in text
    assert "COLOUR=blue" in text


async def test_programs_are_bounded_in_what_they_use(shop: Shop) -> None:
    shop.make("bash", fileLimit=1, memoryLimit=200)
    assert "Exit Code: 0" not in await _bash(shop, "head -c 3000000 /dev/zero > big")
    assert (shop.folder / "big").stat().st_size <= 1024 * 1024
    assert "MemoryError" in await _bash(shop, "python3 -c 'x = bytearray(400_000_000)'")


async def test_a_program_that_writes_without_end_is_ended(shop: Shop) -> None:
    shop.make("bash", fileLimit=1, maxOutputSize=200)
    text = await _bash(shop, "yes")
    assert "Exit Code: 0" not in text
    assert "the output is cut" in text


async def test_input_is_empty(shop: Shop) -> None:
    assert "Exit Code: 0" in await _bash(shop, "cat")


async def test_a_posix_shell_will_do(shop: Shop) -> None:
    shop.make("bash", shellPath="sh")
    assert _output(await _bash(shop, "echo a | tr a b")) == "b"
    assert "is of bash, and the shell is another" in await _bash(shop, "[[ a || ls ]]")
    with pytest.raises(ValueError, match=r"builtin tool bash: shellPath: .*python3 is not known"):
        shop.make("bash", shellPath="python3")
    with pytest.raises(ValueError, match="shellPath: there is no shell nowhere"):
        shop.make("bash", shellPath="nowhere")


async def test_the_tool_itself_has_a_say_in_permissions(shop: Shop) -> None:
    check: Any = shop.make("bash", mode="deny").check_permission
    assert check({"command": "ls -l"}) is None
    assert check({"command": "rm -rf build"}).decision == "ask"
    assert "rm -rf" in check({"command": "true && rm -r --force build"}).reason
    assert check({"command": "su"}).decision == "deny"
    assert check({"command": "echo $("}).decision == "deny"
    assert check({"cmd": "ls"}) is None
    assert check({"command": "nice sudo ls"}).reason == "dangerous command: sudo"
    assert check({"command": "kill", "args": ["-9", "1"]}).reason == "dangerous command: kill -9"
    check = shop.make("bash", allow=["sudo", "ls"]).check_permission
    assert check({"command": "sudo ls"}) is None
    assert check({"command": "sudo cat x"}).decision == "deny"


# Without a shell


async def test_without_a_shell_words_are_cut_at_blanks_and_nothing_is_special(shop: Shop) -> None:
    shop.make("bash", shell=False)
    shop.write("a b.txt", "x")
    told = json.loads(await _bash(shop, "cat 'a b.txt'"))
    assert told["exitCode"] == 1
    shop.write("n.txt", "one\ntwo\n")
    told = json.loads(await _bash(shop, "head -n 1 n.txt"))
    assert (told["ok"], told["stdout"], told["timedOut"]) == (True, "one\n", False)
    assert told["workingDirectory"] == str(shop.folder)
    assert told["allowedRoots"] == [str(shop.folder)]
    assert told["allowedCommands"] == ["ls", "pwd", "cat", "head", "tail", "top", "free", "df"]


async def test_without_a_shell_paths_stay_inside(shop: Shop, tmp_path: Path) -> None:
    shop.make("bash", shell=False)
    (tmp_path / "outside.txt").write_text("hidden")
    (shop.folder / "link").symlink_to(tmp_path / "outside.txt")
    for command in ("cat /etc/passwd", "cat ../outside.txt", "cat link", "ls ../*", "rm x", "cat ./lin*", "ls /*"):
        told = json.loads(await _bash(shop, command))
        assert set(told) == {"tool", "command", "allowedCommands", "ok", "error"}
        assert not told["ok"]


async def test_without_a_shell_patterns_are_filled_in_at_the_end_of_a_path(shop: Shop) -> None:
    shop.make("bash", shell=False)
    for name in ("b.txt", "a.txt", "c.md", ".hidden.txt"):
        shop.write(f"d/{name}", name)
    told = json.loads(await _bash(shop, "cat d/*.txt"))
    assert told["normalizedCommand"] == "cat d/a.txt d/b.txt"
    assert told["stdout"] == "a.txtb.txt"
    assert json.loads(await _bash(shop, "ls d/*.zip"))["normalizedCommand"] == "ls d/*.zip"


async def test_without_a_shell_output_is_cut_at_2000_characters_and_never_blocks(shop: Shop) -> None:
    shop.make("bash", shell=False)
    shop.write("big.txt", "x" * 300_000)
    told = json.loads(await _bash(shop, "cat big.txt"))
    assert told["stdout"] == "x" * 2000 + "...(truncated)"
