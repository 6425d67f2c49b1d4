"""`exec`, with real programs: what may run, with which arguments, where, and what becomes of the message."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from tests.programs import eventually, pids_in, runs

from catenary import ChainInvalid, Engine, Message


@pytest.fixture
def run():
    """Run one message through one `exec` node of an engine with these properties."""

    def run(configuration, data="{}", /, metadata=None, data_type="JSON", roots=(), **properties):
        properties.setdefault("execNodeWhitelist", "sh, echo,printf,env,pwd,true,false,yes")
        with Engine(properties, roots=roots) as engine:
            chain = engine.load(chain_of(configuration))
            (end,) = chain.run_sync(Message(data, metadata=metadata, data_type=data_type)).ends
            return end

    return run


def chain_of(configuration, **node):
    written = {"id": "e", "type": "exec", "configuration": configuration, **node}
    return {"ruleChain": {"id": "c"}, "metadata": {"nodes": [written]}}


def output_of(end):
    assert end.relation == "Success", end.error
    return end.message.data


# What may run


def test_nothing_may_run_without_properties(run):
    end = run({"cmd": "echo"}, execNodeWhitelist="")
    assert (end.relation, end.message.metadata["errorMsg"]) == ("Failure", "cmd not allowed error")
    assert "execNodeWhitelist" in end.error.hint


@pytest.mark.parametrize(
    ("properties", "error"),
    [
        ({"execNodeWhitelist": "ls,echo"}, ""),
        ({"execNodeWhitelist": ["echo"]}, ""),
        ({"execNodeWhitelist": "ls"}, "cmd not allowed error"),
        ({"execNodeWhitelist": "/bin/echo"}, "cmd not allowed error"),
        ({"execNodeWhitelist": "", "execNodeMode": "deny"}, ""),
        ({"execNodeMode": "deny", "execNodeDeny": "echo"}, "cmd is denied error"),
        ({"execNodeWhitelist": "echo", "execNodeDeny": "ls, echo"}, "cmd is denied error"),
        ({"execNodeWhitelist": "echo", "execNodeDenyArgs": "rm -rf"}, "cmd is denied error"),
        ({"execNodeWhitelist": "echo", "execNodeDenyArgs": "cho rm"}, "cmd is denied error"),
        ({"execNodeWhitelist": "ls", "execNodeDenyArgs": "-rf"}, "cmd is denied error"),
        ({"execNodeWhitelist": "echo", "execNodeDenyArgs": "-rx"}, ""),
    ],
)
def test_the_properties_of_the_engine_say_what_may_run(run, properties, error):
    end = run({"cmd": "echo", "args": ["rm -rf x"]}, **properties)
    assert end.message.metadata.get("errorMsg", "") == error


@pytest.mark.parametrize("denied", ["echo", "/bin/echo", "/usr/bin/echo", "ECHO"])
@pytest.mark.parametrize(
    "command", ["echo", " echo ", "/bin/echo", "/bin/../bin//echo", "./echo", "sub/innocent", "./upwards/echo"]
)
def test_what_is_denied_is_denied_by_whatever_path(run, tmp_path, denied, command):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "innocent").symlink_to("/bin/echo")
    (tmp_path / "upwards").symlink_to("/bin")
    (tmp_path / "echo").symlink_to("/bin/echo")
    settings = {"execNodeMode": "deny", "execNodeDeny": denied}
    end = run({"cmd": command}, metadata={"workDir": str(tmp_path)}, roots=[tmp_path], **settings)
    assert end.message.metadata["errorMsg"] == "cmd is denied error"


@pytest.mark.parametrize("denied", ["cho", "/usr/local/no/echo", "bin", "/bin", "echo2"])
def test_what_only_looks_like_it_is_not_denied(run, denied):
    assert run({"cmd": "/bin/echo"}, execNodeMode="deny", execNodeDeny=denied).relation == "Success"


@pytest.mark.parametrize(
    "script", ["rm -rf /", "rm  -rf /", "rm\t-rf /", "'rm' -rf /", "r''m -r\"\"f /", r"r\m \-rf /", "x; rm\n-rf /"]
)
def test_blanks_and_quotes_do_not_hide_a_text_that_is_denied(run, script):
    configuration = {"cmd": "printf", "args": ["${metadata.script}"]}
    end = run(configuration, metadata={"script": script}, execNodeDenyArgs="rm  -rf, other")
    assert end.message.metadata["errorMsg"] == "cmd is denied error"


def test_a_refused_program_is_not_started(run, tmp_path):
    run({"cmd": "sh", "args": ["-c", "${'touch ' + metadata.f}"]}, metadata={"f": f"{tmp_path}/x"}, execNodeDeny="sh")
    assert list(tmp_path.iterdir()) == []


def test_a_mode_that_is_none_refuses_the_chain(run):
    with pytest.raises(ChainInvalid, match="execNodeMode is 'alow', and must be one of allow, deny"):
        run({"cmd": "echo"}, execNodeMode="alow")


def test_properties_count_from_the_next_message_on():
    properties = {"execNodeWhitelist": "true"}
    with Engine(properties) as engine:
        chain = engine.load(chain_of({"cmd": "true"}))
        assert chain.run_sync({}).ok
        properties["execNodeWhitelist"] = ""
        assert "not allowed" in str(chain.run_sync({}).error)
        properties["execNodeMode"] = "any"
        assert "execNodeMode" in str(chain.run_sync({}).error)


# The command


@pytest.mark.parametrize(
    ("args", "arguments"),
    [
        (["${metadata.d} -l"], ["a b", "-l"]),
        (["  x   y ", "z"], ["x", "y", "z"]),
        (['"x  y'], ['"x  y']),
        (["--k=${metadata.d}"], ["--k=a b"]),
        (["${metadata.d + ' c'} ${'x y'}z w"], ["a b c", "x yz", "w"]),
        (["${'one ' + \"}\"}"], ["one }"]),
        (["$(id) `id` $HOME *"], ["$(id)", "`id`", "$HOME", "*"]),
        ([7, True], ["7", "true"]),
        ([""], [""]),
        (["${metadata.none}"], [""]),
        ([" "], []),
    ],
)
def test_arguments_are_cut_at_blanks_before_they_are_filled_in(run, args, arguments):
    show = 'for a in "$@"; do echo "[$a]"; done'
    configuration = {"cmd": "sh", "args": ["-c", "${metadata.show}", "sh", *args], "replaceData": True}
    end = run(configuration, "{}", metadata={"d": "a b", "show": show})
    assert output_of(end) == "".join(f"[{argument}]\n" for argument in arguments)


def test_a_single_text_is_a_list_of_one(run):
    assert output_of(run({"cmd": "echo", "args": "a  ${msg.x}", "replaceData": True}, {"x": "b  c"})) == "a b  c\n"


def test_the_command_is_a_template(run):
    assert output_of(run({"cmd": "${msg.c}", "args": ["x"], "replaceData": True}, {"c": "echo"})) == "x\n"


def test_an_argument_that_does_not_compile_is_told_with_its_place(run):
    with pytest.raises(ChainInvalid, match="args"):
        run({"cmd": "echo", "args": ["ok", "a ${'b c} d"]})


def test_a_command_that_does_not_exist_is_a_failure(run):
    end = run({"cmd": "no-such-program", "replaceData": True}, "x", execNodeMode="deny")
    assert end.message.metadata["errorMsg"] == "'no-such-program' cannot be started: there is no such program"
    assert end.message.data == "x"


def test_a_blank_command_is_a_failure(run):
    assert "names no program" in str(run({"cmd": " "}, execNodeMode="deny").error)


def test_render_shows_the_command(run):
    with Engine() as engine:
        component = engine.load(chain_of({"cmd": "echo", "args": ["a ${msg.x}"]})).compiled.by_id["e"].component
        assert component.preview(None, Message({"x": "b c"})) == {"command": ["echo", "a", "b c"]}


# The message


def test_without_replace_data_the_message_goes_on_as_it_is(run):
    end = run({"cmd": "echo", "args": ["x"]}, '{"a": 1}', metadata={"k": "v"})
    assert (end.relation, end.message.data, end.message.metadata) == ("Success", '{"a": 1}', {"k": "v"})


def test_output_keeps_its_last_newline_and_the_data_type_stays(run):
    message = run({"cmd": "echo", "args": ["x"], "replaceData": True}, data_type="JSON").message
    assert (message.data, message.data_type) == ("x\n", "JSON")


def test_error_output_is_the_data_when_there_is_no_other(run):
    script = {"cmd": "sh", "args": ["-c", "${metadata.s}"], "replaceData": True}
    assert output_of(run(script, metadata={"s": "echo e >&2"})) == "e\n"
    assert output_of(run(script, metadata={"s": "echo e >&2; echo o"})) == "o\n"


def test_bytes_stay_bytes(run):
    printed = {"cmd": "printf", "args": [r"\377\000"], "replaceData": True}
    assert output_of(run(printed, b"", data_type="BINARY")) == b"\xff\x00"


def test_an_exit_status_is_a_failure_and_the_data_stays(run):
    script = "echo out; echo oops >&2; exit 3"
    end = run({"cmd": "sh", "args": ["-c", "${metadata.s}"], "replaceData": True}, "d", metadata={"s": script})
    metadata = end.message.metadata
    assert (end.relation, end.message.data, metadata["errorMsg"]) == ("Failure", "d", "exit status 3")
    assert (metadata["exitCode"], metadata["stderr"]) == ("3", "oops\n")


def test_too_much_output_is_a_failure(run):
    end = run({"cmd": "yes", "replaceData": True, "maxOutputBytes": 1000}, "d")
    assert "the output of 'yes' is larger than 1000 bytes" in str(end.error)
    assert end.message.data == "d"


def test_a_program_that_takes_too_long_is_a_failure(run):
    end = run({"cmd": "sh", "args": ["-c", "${metadata.s}"], "timeoutMs": 200}, metadata={"s": "sleep 600"})
    assert "'sh' took longer than 0.2 s and was ended" in str(end.error)


# Where it works, and with what


def test_it_works_in_the_folder_that_the_metadata_names(run, tmp_path):
    (tmp_path / "in").mkdir()
    pwd = {"cmd": "pwd", "replaceData": True}
    assert output_of(run(pwd)).strip() == str(Path.cwd())
    assert output_of(run(pwd, metadata={"workDir": " "})).strip() == str(Path.cwd())
    assert output_of(run(pwd, metadata={"workDir": f"{tmp_path}/in"}, roots=[tmp_path])).strip() == f"{tmp_path}/in"
    assert output_of(run(pwd, metadata={"workDir": "in"}, data_dir=str(tmp_path))).strip() == f"{tmp_path}/in"
    assert output_of(run(pwd, metadata={"workDir": str(tmp_path)}, roots=[tmp_path])).strip() == str(tmp_path)


@pytest.mark.parametrize(
    ("folder", "text"),
    [
        ("/etc", "is outside of the folders that this chain may use"),
        ("../", "is outside of the folders that this chain may use"),
        ("out", "is outside of the folders that this chain may use"),
        ("none", "the folder 'none' in the metadata `workDir` does not exist"),
        ("file", "does not exist"),
        ("a\0b", "does not exist"),
    ],
)
def test_it_works_nowhere_else(run, tmp_path, folder, text):
    root = tmp_path / "root"
    root.mkdir()
    (root / "out").symlink_to("/etc")
    (root / "file").write_text("")
    end = run({"cmd": "pwd"}, metadata={"workDir": folder}, roots=[root])
    assert text in str(end.error)


def test_without_allowed_folders_no_folder_can_be_named(run):
    assert "no folder is allowed" in str(run({"cmd": "pwd"}, metadata={"workDir": "/tmp"}).error)


def test_variables_are_handed_down_by_name_only(run, monkeypatch):
    monkeypatch.setenv("SOME_TOKEN", "s3cret")
    monkeypatch.setenv("OTHER_TOKEN", "s3cret2")
    env = {"cmd": "env", "replaceData": True}
    assert "TOKEN" not in output_of(run(env))
    shown = output_of(run(env, execNodeEnv="SOME_TOKEN,NONE"))
    assert "SOME_TOKEN=s3cret\n" in shown
    assert "OTHER_TOKEN" not in shown


# Those who watch


def test_lines_are_told_to_the_debug_callback_and_as_events(tmp_path):
    told, events = [], []
    script = {"cmd": "sh", "args": ["-c", "${metadata.s}"], "log": True}
    heard = tmp_path / "heard"  # the two outputs have no order of their own

    def tell(*what):
        told.append(what)
        if what[1] == "Log":
            heard.touch()

    with Engine({"execNodeWhitelist": "sh"}) as engine:
        engine.hooks.on_debug.append(tell)
        engine.subscribe(events.append)
        chain = engine.load(chain_of(script, debugMode=True))
        both = f"echo a; while [ ! -e {heard} ]; do sleep 0.02; done; echo b >&2"
        chain.run_sync(Message("d", metadata={"s": both}))
    lines = [(flow, node, message.data, relation) for _, flow, node, message, relation, _ in told if flow == "Log"]
    assert lines == [("Log", "e", "a", "info"), ("Log", "e", "b", "error")]
    dotted = [(event.name, dict(event.data)) for event in events if event.name.startswith("log.")]
    assert dotted == [("log.info", {"text": "a"}), ("log.error", {"text": "b"})]


@pytest.mark.parametrize("log", [True, False])
def test_lines_are_told_only_if_asked_for_and_watched(log):
    events = []
    with Engine({"execNodeWhitelist": "echo"}) as engine:
        chain = engine.load(chain_of({"cmd": "echo", "args": ["x"], "log": log}))
        assert chain.run_sync({}).ok
        engine.subscribe(events.append)
        chain.run_sync({})
    assert ("log.info" in {event.name for event in events}) is log


# Cancelling


async def test_cancelling_the_run_leaves_no_process(tmp_path):
    pids = tmp_path / "pids"
    script = f"echo $$ >> {pids}; sh -c 'echo $$ >> {pids}; sleep 600' & wait"
    async with Engine({"execNodeWhitelist": "sh"}) as engine:
        engine.load(chain_of({"cmd": "sh", "args": ["-c", "${metadata.s}"]}))
        running = asyncio.create_task(engine.run("c", Message("", metadata={"s": script})))
        started = await pids_in(pids, 2)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        await eventually(lambda: not any(map(runs, started)))


async def test_the_time_limit_of_the_node_ends_the_program(tmp_path):
    pids = tmp_path / "pids"
    script = {"cmd": "sh", "args": ["-c", "${metadata.s}"]}
    async with Engine({"execNodeWhitelist": "sh"}) as engine:
        engine.load(chain_of(script, timeout="300ms"))
        message = Message("", metadata={"s": f"echo $$ > {pids}; sleep 600 & wait"})
        assert not (await engine.run("c", message)).ok
        begun = pids.read_text().split() if pids.exists() else []  # none, if it was ended as it began
        await eventually(lambda: not any(runs(int(pid)) for pid in begun))
