"""Chains of a folder: what is loaded, what is left out, what becomes of changes, and how they are watched."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path

import pytest
from tests.programs import eventually

from catenary import SUCCESS, Component, Config, register
from catenary.errors import EngineError
from catenary.life.folder import folder_of


@register("t/inFolder", category="test")
class InFolder(Component[Config]):
    """Passes messages on."""

    def run(self, ctx, msg):
        return SUCCESS


def text(chain_id="", node="a", **more):
    head = {**({"id": chain_id} if chain_id else {}), **more}
    return json.dumps({"ruleChain": head, "metadata": {"nodes": [{"id": node, "type": "t/inFolder"}]}})


def write(folder: Path, **files: str) -> None:
    """Write files as editors do: aside, then put in place. `__` in a name is a `/`, the rest before `_` its suffix."""
    for name, content in files.items():
        stem, _, suffix = name.rpartition("_")
        path = folder / f"{stem.replace('__', '/')}.{suffix}"
        path.parent.mkdir(parents=True, exist_ok=True)
        aside = path.with_name(f".{path.name}.tmp")
        aside.write_text(content)
        aside.replace(path)


YAML = "ruleChain: {id: y}\nmetadata:\n  nodes: [{id: a, type: t/inFolder}]\n"


def test_chains_of_a_folder_and_below_are_loaded(engine, tmp_path):
    write(tmp_path, one_json=text("one"), sub__two_yml=YAML, unnamed_json=text())
    report = engine.load_folder(tmp_path)
    assert report.ok
    assert sorted(report.chains) == ["one", "unnamed", "y"]
    assert report.loaded == ("one", "unnamed", "y")
    assert sorted(engine.chains) == ["one", "unnamed", "y"]


def test_files_that_are_not_in_service_are_told_with_the_ids_of_their_chains(engine, tmp_path):
    wrong = text("own").replace("t/inFolder", "t/nowhere")
    write(tmp_path, a_json=wrong, b_json='{"ruleChain"', off_json=text("c", disabled=True), good_json=text("d"))
    names = {Path(file).name: name for file, name in engine.load_folder(tmp_path).names.items()}
    assert names == {"a.json": "own", "b.json": "b", "off.json": "c"}
    write(tmp_path, a_json='{"ruleChain"')
    assert engine.load_folder(tmp_path).names[str(tmp_path / "a.json")] == "own"


def test_a_folder_tells_the_file_of_a_chain_that_it_serves(engine, tmp_path):
    write(tmp_path, sub__two_yml=YAML, broken_json="{")
    engine.load_folder(tmp_path)
    folder = folder_of(engine, tmp_path)
    assert folder.file_of("y") == tmp_path / "sub" / "two.yml"
    assert folder.file_of("broken") is None


def test_what_is_no_chain_is_left_out(engine, tmp_path):
    write(tmp_path, one_json=text("one"), package_json='{"name": "x"}', list_yaml="- 1\n")
    (tmp_path / "one.test.yaml").write_text("tests: []")
    (tmp_path / ".hidden.json").write_text("{")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "x.json").write_text(text("x"))
    (tmp_path / "notes.txt").write_text("no chain")
    report = engine.load_folder(tmp_path)
    assert report.ok
    assert list(report.chains) == ["one"]
    assert report.skipped == (str(tmp_path / "list.yaml"), str(tmp_path / "package.json"))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
def test_pipe_with_the_name_of_a_chain_holds_up_nobody(engine, tmp_path):
    os.mkfifo(tmp_path / "pipe.json")
    write(tmp_path, one_json=text("one"))
    report = engine.load_folder(tmp_path)
    assert (list(report.chains), report.problems, report.skipped) == (["one"], {}, ())


def test_broken_file_does_not_keep_the_others_out(engine, tmp_path):
    write(tmp_path, bad_json='{"ruleChain": {\n  "id" "x"}}', one_json=text("one"))
    write(tmp_path, wrong_json=text("w").replace("t/inFolder", "t/inFolders"))
    report = engine.load_folder(tmp_path)
    assert list(report.chains) == ["one"]
    syntax = report.problems[str(tmp_path / "bad.json")][0]
    assert (syntax.code, syntax.line) == ("chain.syntax", 2)
    assert report.problems[str(tmp_path / "wrong.json")][0].code == "chain.unknown-type"


def test_id_that_two_files_have_is_told_with_both(engine, tmp_path):
    write(tmp_path, a_json=text("same", "a"), b_json=text("same", "b"))
    report = engine.load_folder(tmp_path)
    (problem,) = report.problems[str(tmp_path / "b.json")]
    assert problem.text == f"the chain 'same' is in {tmp_path / 'a.json'} already, and also in {tmp_path / 'b.json'}"
    assert list(engine.get("same").compiled.by_id) == ["a"]


def test_disabled_chain_is_listed_and_is_not_broken(engine, tmp_path):
    write(tmp_path, a_json=text("a", disabled=True), b_json=text("b"))
    report = engine.load_folder(tmp_path)
    assert report.ok
    assert report.disabled == (str(tmp_path / "a.json"),)
    assert list(report.chains) == ["b"]


def test_folder_that_is_not_there_is_an_error(engine, tmp_path):
    with pytest.raises(EngineError, match="there is no folder"):
        engine.load_folder(tmp_path / "nope")


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
def test_link_that_leads_out_of_the_folder_is_a_problem_and_one_inside_is_none(engine, tmp_path):
    folder, outside = tmp_path / "chains", tmp_path / "outside.json"
    outside.write_text(text("outside"))
    write(folder, one_json=text("one"))
    (folder / "link.json").symlink_to(outside)
    data = folder / "..data"
    data.mkdir()
    (data / "mounted.json").write_text(text("mounted"))
    (folder / "mounted.json").symlink_to(data / "mounted.json")
    report = engine.load_folder(folder)
    assert sorted(report.chains) == ["mounted", "one"]
    assert "leads out of the folder" in report.problems[str(folder / "link.json")][0].text


# Looking again


def test_second_look_takes_over_what_has_changed(engine, tmp_path):
    write(tmp_path, a_json=text("a"), b_json=text("b"), c_json=text("c"))
    engine.load_folder(tmp_path)
    write(tmp_path, a_json=text("a", "other"), d_json=text("d"))
    (tmp_path / "b.json").unlink()
    report = engine.load_folder(tmp_path)
    assert (report.reloaded, report.loaded, report.removed) == (("a",), ("d",), ("b",))
    assert {name: chain.version for name, chain in engine.chains.items()} == {"a": 2, "c": 1, "d": 1}
    assert not engine.load_folder(tmp_path).has_news


def test_broken_change_keeps_the_last_good_version_and_is_told_once(engine, tmp_path):
    write(tmp_path, a_json=text("a"))
    engine.load_folder(tmp_path)
    write(tmp_path, a_json='{"ruleChain": ')
    report = engine.load_folder(tmp_path)
    assert report.fresh == (str(tmp_path / "a.json"),)
    assert report.chains["a"].version == 1
    assert not engine.load_folder(tmp_path).has_news
    write(tmp_path, a_json=text("a", "good"))
    report = engine.load_folder(tmp_path)
    assert report.ok
    assert report.reloaded == ("a",)
    assert engine.get("a").version == 2


@pytest.mark.parametrize("half", ["", "{}", '{"name": "x"}'])
def test_file_that_is_no_chain_any_more_keeps_the_last_good_version(engine, tmp_path, half):
    write(tmp_path, a_json=text("a"))
    engine.load_folder(tmp_path)
    write(tmp_path, a_json=half)
    report = engine.load_folder(tmp_path)
    assert "is no chain any more" in report.problems[str(tmp_path / "a.json")][0].text
    assert list(engine.chains) == ["a"]


def test_renamed_file_keeps_its_chain_in_service(engine, tmp_path):
    write(tmp_path, a_json=text("a"))
    engine.load_folder(tmp_path)
    (tmp_path / "a.json").rename(tmp_path / "z.json")
    report = engine.load_folder(tmp_path)
    assert (report.reloaded, report.removed) == (("a",), ())
    assert engine.get("a").version == 2


def test_other_id_in_a_file_takes_the_earlier_chain_out_of_service(engine, tmp_path):
    write(tmp_path, a_json=text("a"))
    engine.load_folder(tmp_path)
    write(tmp_path, a_json=text("b"))
    report = engine.load_folder(tmp_path)
    assert (report.loaded, report.removed) == (("b",), ("a",))
    assert list(engine.chains) == ["b"]


def test_broken_text_with_another_id_keeps_the_last_good_version(engine, tmp_path):
    write(tmp_path, a_json=text("a"))
    engine.load_folder(tmp_path)
    write(tmp_path, a_json=text("b").replace("t/inFolder", "t/inFolders"))
    assert list(engine.load_folder(tmp_path).chains) == ["a"]
    write(tmp_path, a_json=text("b"))
    assert list(engine.load_folder(tmp_path).chains) == ["b"]
    assert list(engine.chains) == ["b"]


def test_two_files_that_swap_their_ids_keep_both_chains(engine, tmp_path):
    write(tmp_path, a_json=text("a"), b_json=text("b"))
    engine.load_folder(tmp_path)
    write(tmp_path, a_json=text("b", "x"), b_json=text("a", "y"))
    engine.load_folder(tmp_path)
    engine.load_folder(tmp_path)
    assert {name: list(chain.compiled.by_id) for name, chain in engine.chains.items()} == {"a": ["y"], "b": ["x"]}


def test_chain_that_becomes_disabled_goes_out_of_service(engine, tmp_path):
    write(tmp_path, a_json=text("a"))
    engine.load_folder(tmp_path)
    write(tmp_path, a_json=text("a", disabled=True))
    assert engine.load_folder(tmp_path).removed == ("a",)
    write(tmp_path, a_json=text("a"))
    assert engine.load_folder(tmp_path).loaded == ("a",)


def test_second_of_two_with_one_id_is_loaded_when_the_first_goes(engine, tmp_path):
    write(tmp_path, a_json=text("same", "a"), b_json=text("same", "b"))
    engine.load_folder(tmp_path)
    (tmp_path / "a.json").unlink()
    report = engine.load_folder(tmp_path)
    assert report.ok
    assert list(engine.get("same").compiled.by_id) == ["b"]


def test_chain_that_the_host_loaded_is_not_replaced_by_a_file(engine, tmp_path):
    engine.load(text("a", "host"))
    write(tmp_path, a_json=text("a", "file"))
    report = engine.load_folder(tmp_path)
    assert report.problems[str(tmp_path / "a.json")][0].text.startswith("chain.duplicate-id")
    assert list(engine.get("a").compiled.by_id) == ["host"]


@register("t/readsAtLoad", category="test")
class ReadsAtLoad(Component[Config]):
    """Reads a file when it is opened."""

    def open(self, ctx):
        from catenary.expr.files import read_text

        self.text = read_text("words.txt", ctx.chain.environment)

    def run(self, ctx, msg):
        return SUCCESS, msg.with_data(self.text)


def test_chain_is_reloaded_when_a_file_changes_that_was_read_for_it(engine, tmp_path):
    words = tmp_path / "words.txt"
    words.write_text("one")
    write(tmp_path, a_json=text("a").replace("t/inFolder", "t/readsAtLoad"))
    engine.load_folder(tmp_path)
    assert engine.run_sync("a", "").message.text == "one"
    words.write_text("three")
    assert engine.load_folder(tmp_path).reloaded == ("a",)
    assert engine.run_sync("a", "").message.text == "three"


def test_file_that_changes_while_a_chain_is_made_of_it_is_read_again(engine, tmp_path):
    words = tmp_path / "words.txt"
    words.write_text("one")
    write(tmp_path, a_json=text("a").replace("t/inFolder", "t/readsAtLoad"))
    engine.on_new(lambda _: words.write_text("three"))
    engine.load_folder(tmp_path)
    assert engine.load_folder(tmp_path).reloaded == ("a",)
    assert engine.run_sync("a", "").message.text == "three"


# Watching


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
async def test_folder_that_is_mounted_by_links_and_swapped_as_a_whole_is_followed(engine, tmp_path):
    for number in ("1", "2"):
        write(tmp_path / f"..{number}", a_json=text("a", f"v{number}"))
    (tmp_path / "..data").symlink_to("..1")
    (tmp_path / "a.json").symlink_to("..data/a.json")
    async with engine.watch(tmp_path, settle_s=0.02) as watch:
        assert list(engine.get("a").compiled.by_id) == ["v1"]
        (tmp_path / "..new").symlink_to("..2")
        (tmp_path / "..new").replace(tmp_path / "..data")
        assert (await next_report(watch)).reloaded == ("a",)
        assert list(engine.get("a").compiled.by_id) == ["v2"]


async def test_folder_that_is_put_in_place_of_another_is_followed(engine, tmp_path):
    chains, other = tmp_path / "chains", tmp_path / "other"
    write(chains, a_json=text("a", "v1"))
    write(other, a_json=text("a", "v2"), b_json=text("b"))
    async with engine.watch(chains, settle_s=0.02) as watch:
        chains.rename(tmp_path / "away")
        other.rename(chains)
        while "b" not in (await next_report(watch)).chains:
            pass
        write(chains, c_json=text("c"))
        while "c" not in (await next_report(watch)).chains:
            pass
        assert sorted(engine.chains) == ["a", "b", "c"]


async def next_report(watch):
    return await asyncio.wait_for(anext(aiter(watch)), 15)


async def test_watched_folder_follows_its_files(engine, tmp_path):
    write(tmp_path, a_json=text("a"), b_json=text("b"))
    told = []
    async with engine.watch(tmp_path, on_change=told.append, settle_s=0.02) as watch:
        assert sorted(watch.report.chains) == ["a", "b"]
        write(tmp_path, a_json=text("a", "new"))
        assert (await next_report(watch)).reloaded == ("a",)
        assert list(engine.get("a").compiled.by_id) == ["new"]
        write(tmp_path, a_json='{"ruleChain": ')
        report = await next_report(watch)
        assert report.problems[str(tmp_path / "a.json")][0].code == "chain.syntax"
        assert engine.get("a").version == 2
        write(tmp_path, deep__c_yaml=YAML)
        assert (await next_report(watch)).loaded == ("y",)
        (tmp_path / "b.json").unlink()
        assert (await next_report(watch)).removed == ("b",)
    assert sorted(engine.chains) == ["a", "y"]
    assert len(told) == 4
    write(tmp_path, e_json=text("e"))
    await asyncio.sleep(0.1)
    assert "e" not in engine.chains


async def test_chain_whose_file_is_deleted_has_the_grace(engine, tmp_path):
    entered, leave = asyncio.Event(), asyncio.Event()

    async def wait(ctx, msg):
        entered.set()
        await leave.wait()
        return SUCCESS

    from tests.engine.runtime.kit import definition

    (tmp_path / "a.json").write_text(json.dumps(definition({"a": wait}, id="a")))
    async with engine.watch(tmp_path, settle_s=0.02, grace_s=60) as watch:
        run = asyncio.create_task(engine.run("a", "x"))
        await entered.wait()
        (tmp_path / "a.json").unlink()
        await next_report(watch)
        await asyncio.sleep(0)
        assert not run.done()
        write(tmp_path, a_json=text("a", "again"))
        await asyncio.sleep(0.1)
        leave.set()
        assert (await run).ok
        assert (await next_report(watch)).loaded == ("a",)
        assert list(engine.get("a").compiled.by_id) == ["again"]


async def test_report_of_a_watch_ends_with_it(engine, tmp_path):
    loaded = asyncio.Event()
    async with engine.watch(tmp_path, on_change=lambda _: loaded.set(), settle_s=0.02) as watch:
        reports = asyncio.create_task(_all(watch))
        write(tmp_path, a_json=text("a"))
        await loaded.wait()
    assert [report.loaded for report in await asyncio.wait_for(reports, 15)] == [("a",)]


async def _all(watch):
    return [report async for report in watch]


async def test_watch_of_no_folder_is_an_error(engine, tmp_path):
    with pytest.raises(EngineError, match="there is no folder"):
        async with engine.watch(tmp_path / "nope"):
            pass


async def test_watch_without_the_extra_names_it(engine, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "watchfiles", None)
    with pytest.raises(EngineError) as caught:
        async with engine.watch(tmp_path):
            pass
    assert caught.value.hint == "install it with: pip install 'catenary[watch]'"


async def test_a_watch_that_breaks_is_told_once_and_begun_again(engine, tmp_path, monkeypatch, caplog):
    import watchfiles

    monkeypatch.setattr("catenary.life.watching._AGAIN_S", 0.02)
    working, tries = watchfiles.awatch, []

    async def awatch(*folders, **options):
        tries.append(folders)
        if len(tries) < 4:
            await asyncio.sleep(0.02)
            raise OSError("no more watches")
        async for changes in working(*folders, **options):
            yield changes

    monkeypatch.setattr(watchfiles, "awatch", awatch)
    async with engine.watch(tmp_path, settle_s=0.02) as watch:
        write(tmp_path, a_json=text("a"))
        assert (await next_report(watch)).loaded == ("a",)
        await eventually(lambda: len(tries) == 4)
        write(tmp_path, b_json=text("b"))
        assert (await next_report(watch)).loaded == ("b",)
    assert caplog.text.count("a folder of chains cannot be watched") == 1


async def test_callback_of_a_watch_that_fails_is_logged(engine, tmp_path, caplog):
    def fails(report):
        raise RuntimeError("oh")

    async with engine.watch(tmp_path, on_change=fails, settle_s=0.02) as watch:
        write(tmp_path, a_json=text("a"))
        await next_report(watch)
        write(tmp_path, b_json=text("b"))
        await next_report(watch)
    assert caplog.text.count("a callback about a folder of chains failed") == 2
