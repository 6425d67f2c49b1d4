"""`/api/v1/chains`: looking at chains, changing them, and keeping the changes in the folder."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from tests.server.kit import Site, chain, greeting, held, serving

from catenary_server import ServiceSettings

PATH = "/api/v1/chains"
YAML = {"content-type": "application/yaml"}
BROKEN = chain("hello", ("greet", "exprTransfrom", {}), ("greet", "fork", {}))


def in_folder(folder: Path, *chains: Any, suffix: str = "json") -> Path:
    folder.mkdir(exist_ok=True)
    for one in chains:
        (folder / f"{one['ruleChain']['id']}.{suffix}").write_text(json.dumps(one))
    return folder


def names_in(folder: Path) -> list[str]:
    return [path.name for path in folder.rglob("*")]


async def says(site: Site) -> str:
    """Give what the greeting chain says at present."""
    return (await site.run("hello", {"name": "Ann"})).json()["data"]["text"]


async def test_chains_are_listed_with_their_files_and_those_that_are_broken(tmp_path: Path) -> None:
    folder = in_folder(tmp_path / "chains", greeting())
    (folder / "bad.yaml").write_text("ruleChain: {id: bad}\nmetadata: {nodes: [{id: a, type: forkk}]}\n")
    async with serving(folder=folder) as site:
        found = (await site.client.get(PATH)).json()
    (one,) = found["chains"]
    assert (one["id"], one["version"], one["nodes"], one["file"]) == ("hello", 1, 1, str(folder / "hello.json"))
    (broken,) = found["broken"]
    (problem,) = broken["problems"]
    assert (broken["id"], broken["file"]) == ("bad", str(folder / "bad.yaml"))
    assert (problem["code"], problem["line"], problem["hint"]) == ("chain.unknown-type", 2, "did you mean 'fork'?")


async def test_a_chain_is_shown_as_it_is_written_with_its_version_as_etag() -> None:
    async with serving(greeting()) as site:
        answer = await site.client.get(f"{PATH}/hello")
    assert answer.json()["definition"]["metadata"]["nodes"][0]["type"] == "exprTransform"
    assert answer.headers["etag"].startswith('"1-')


async def test_a_chain_is_created_replaced_and_deleted() -> None:
    async with serving() as site:
        created = await site.client.post(PATH, json=greeting())
        assert (created.status_code, created.headers["location"]) == (201, f"{PATH}/hello")
        assert await says(site) == "Hello Ann"
        replaced = await site.client.put(f"{PATH}/hello", json=greeting(text="Good day"))
        assert (replaced.status_code, replaced.json()["version"]) == (200, 2)
        assert await says(site) == "Good day Ann"
        assert (await site.client.delete(f"{PATH}/hello")).status_code == 204
        assert (await site.run("hello", {"name": "Ann"})).status_code == 404


async def test_what_is_doubtful_about_a_chain_that_is_sent_is_in_the_answer() -> None:
    async with serving() as site:
        doubtful = chain("c", ("n", "log", {"jsScrpt": "return 1"}))
        made = await site.client.post("/api/v1/chains", json=doubtful)
        listed = (await site.client.get("/api/v1/chains")).json()["chains"]
    (problem,) = made.json()["problems"]
    assert made.status_code == 201
    assert (problem["code"], problem["severity"], problem["file"]) == ("config.unknown-option", "warning", "")
    assert listed[0]["problems"] == [problem]


async def test_a_chain_that_is_there_is_not_created_again() -> None:
    async with serving(greeting()) as site:
        answer = await site.client.post(PATH, json=greeting(text="Bye"))
        assert (answer.status_code, answer.json()["code"]) == (409, "chain.duplicate-id")
        assert await says(site) == "Hello Ann"


async def test_a_chain_without_an_id_is_put_under_one_and_not_created() -> None:
    without: Any = {**greeting(), "ruleChain": {}}
    async with serving() as site:
        assert (await site.client.post(PATH, json=without)).json()["code"] == "chain.no-id"
        assert (await site.client.put(f"{PATH}/hello", json=without)).status_code == 201
        assert await says(site) == "Hello Ann"


async def test_a_chain_with_errors_is_refused_with_all_of_them_and_the_last_good_version_stays() -> None:
    async with serving(greeting()) as site:
        answer = await site.client.put(f"{PATH}/hello", json=BROKEN)
        found = answer.json()
        assert (answer.status_code, found["code"]) == (422, "chain.invalid")
        assert {one["code"] for one in found["problems"]} >= {"chain.unknown-type", "chain.duplicate-id"}
        assert all(one["file"] == "" and one["line"] == 1 and one["column"] > 1 for one in found["problems"])
        assert await says(site) == "Hello Ann"


async def test_yaml_is_read_with_the_places_of_its_problems() -> None:
    text = "ruleChain: {id: hello}\nmetadata:\n  nodes:\n    - {id: a, type: forc}\n"
    async with serving() as site:
        wrong = await site.client.put(f"{PATH}/hello", content=text, headers=YAML)
        assert wrong.json()["problems"][0]["line"] == 4
        right = await site.client.put(f"{PATH}/hello", content=text.replace("forc", "fork"), headers=YAML)
        assert right.status_code == 201


@pytest.mark.parametrize("text", ["{", "/etc/passwd", "hello.json", "[]", "null"])
async def test_a_body_that_is_no_chain_is_never_taken_for_a_path(text: str) -> None:
    async with serving() as site:
        answers = [
            await site.client.post("/api/v1/check", content=text, headers=headers)
            for headers in (YAML, {"content-type": "application/json"})
        ]
    assert [answer.status_code for answer in answers] == [422, 422]
    assert all("root:" not in answer.text for answer in answers)


async def test_a_check_says_what_is_wrong_and_keeps_nothing() -> None:
    async with serving() as site:
        found = (await site.client.post("/api/v1/check", json=BROKEN)).json()
        fine = (await site.client.post("/api/v1/check", json=greeting())).json()
        assert not site.engine.chains
    assert (found["ok"], fine) == (False, {"ok": True, "problems": []})


async def test_only_the_version_that_is_meant_is_changed() -> None:
    async with serving(greeting()) as site:
        tag = (await site.client.get(f"{PATH}/hello")).headers["etag"]
        first = await site.client.put(f"{PATH}/hello", json=greeting(text="A"), headers={"if-match": tag})
        late = await site.client.put(f"{PATH}/hello", json=greeting(text="B"), headers={"if-match": tag})
        gone = await site.client.delete(f"{PATH}/hello", headers={"if-match": tag})
        assert [one.status_code for one in (first, late, gone)] == [200, 412, 412]
        assert late.json()["message"] == f"the chain is at {first.headers['etag']} by now"
        assert await says(site) == "A Ann"
        fresh = await site.client.put(f"{PATH}/hello", json=greeting(), headers={"if-none-match": "*"})
        absent = await site.client.put(f"{PATH}/new", json=greeting("new"), headers={"if-match": "*"})
        any_one = await site.client.put(f"{PATH}/hello", json=greeting(), headers={"if-match": "*"})
        assert [one.status_code for one in (fresh, absent, any_one)] == [412, 412, 200]


async def test_a_change_is_kept_in_the_folder_only_when_that_is_asked_for(tmp_path: Path) -> None:
    folder = in_folder(tmp_path / "chains", greeting())
    file = folder / "hello.json"
    before = file.read_text()
    async with serving(folder=folder) as site:
        await site.client.put(f"{PATH}/hello", json=greeting(text="A"))
        assert (file.read_text(), await says(site)) == (before, "A Ann")
        answer = await site.client.put(f"{PATH}/hello", json=greeting(text="B"), params={"save": "true"})
        assert answer.json()["file"] == str(file)
        assert "'B '" in file.read_text()
        assert await says(site) == "B Ann"
        await site.client.post(PATH, json=greeting("other"), params={"save": "true"})
        assert json.loads((folder / "other.json").read_text()) == greeting("other")
        broken = await site.client.put(f"{PATH}/hello", json=BROKEN, params={"save": "true"})
        assert (broken.status_code, await says(site)) == (422, "B Ann")
        assert "'B '" in file.read_text()
        await site.client.delete(f"{PATH}/hello", params={"save": "true"})
        assert not file.exists()
    assert not list(folder.glob(".*"))


async def test_a_yaml_file_keeps_its_comments_and_a_json_file_stays_json(tmp_path: Path) -> None:
    folder = in_folder(tmp_path / "chains", greeting("one"))
    text = "# mine\nruleChain: {id: two}\nmetadata: {nodes: [{id: a, type: fork}]}\n"
    async with serving(folder=folder) as site:
        await site.client.put(f"{PATH}/two", content=text, headers=YAML, params={"save": "true"})
        await site.client.put(f"{PATH}/one", content=text.replace("two", "one"), headers=YAML, params={"save": "true"})
    assert (folder / "two.yaml").read_text() == text
    assert json.loads((folder / "one.json").read_text())["ruleChain"]["id"] == "one"


@pytest.mark.parametrize("name", ["../out", "a/b", ".hidden", "x.test", "a b", "-x", "ä"])
async def test_an_id_that_is_no_name_of_a_file_is_served_and_not_saved(name: str, tmp_path: Path) -> None:
    folder = in_folder(tmp_path / "chains")
    async with serving(folder=folder) as site:
        saved = await site.client.post(PATH, json=greeting(name), params={"save": "true"})
        served = await site.client.post(PATH, json=greeting(name))
    assert (saved.status_code, saved.json()["code"], served.status_code) == (409, "chain.file-name", 201)
    assert names_in(tmp_path) == ["chains"]


@pytest.mark.parametrize("query", [{}, {"save": "true"}])
async def test_a_chain_is_not_put_under_another_id_than_its_own(query: dict[str, str], tmp_path: Path) -> None:
    folder = in_folder(tmp_path / "chains", greeting("one"))
    async with serving(folder=folder) as site:
        for path in ("one", "new"):
            answer = await site.client.put(f"{PATH}/{path}", json=greeting("two"), params=query)
            assert (answer.status_code, answer.json()["code"]) == (409, "chain.other-id")
            assert "'two'" in answer.json()["message"]
            assert f"write ruleChain.id {path!r}" in answer.json()["hint"]
        assert list(site.engine.chains) == ["one"]
    assert names_in(folder) == ["one.json"]


async def test_what_was_got_may_be_put_back_also_where_the_host_has_given_another_id() -> None:
    async with serving() as site:
        site.engine.load(greeting("original"), id="copy")
        definition = (await site.client.get(f"{PATH}/copy")).json()["definition"]
        answers = [await site.client.put(f"{PATH}/{name}", json=definition) for name in ("copy", "original")]
    assert [(one.status_code, one.json()["id"]) for one in answers] == [(200, "copy")] * 2


@pytest.mark.parametrize(
    ("text", "name", "code"),
    [
        ("ruleChain: {id: other}\nmetadata: {nodes: [{id: a, type: forkk}]}\n", "other", "chain.unknown-type"),
        ("ruleChain: {id: other}\nmetadata: [", "bad", "chain.syntax"),
    ],
)
async def test_who_asks_for_a_chain_whose_file_is_broken_is_told_what_is_wrong(
    text: str, name: str, code: str, tmp_path: Path
) -> None:
    folder = in_folder(tmp_path / "chains")
    (folder / "bad.yaml").write_text(text)
    async with serving(folder=folder) as site:
        answers = [await site.run(name, {}), await site.client.get(f"{PATH}/{name}")]
        for answer in answers:
            told = answer.json()
            assert (answer.status_code, told["code"]) == (404, "chain.broken")
            assert str(folder / "bad.yaml") in told["message"]
            assert told["problems"][0]["code"] == code
            assert told["problems"][0]["text"] in told["message"]
        mended = await site.client.put(f"{PATH}/{name}", json=greeting(name), params={"save": "true"})
        assert mended.status_code == 201
        assert (await site.run(name, {"name": "Ann"})).json()["data"] == {"text": "Hello Ann"}
    assert names_in(folder) == ["bad.yaml"]


async def test_who_asks_for_a_chain_that_is_disabled_is_told_so(tmp_path: Path) -> None:
    off: Any = greeting("off")
    off["ruleChain"]["disabled"] = True
    async with serving(folder=in_folder(tmp_path / "chains", off)) as site:
        answer = await site.run("off", {})
    assert (answer.status_code, answer.json()["code"]) == (404, "chain.disabled")
    assert "off.json" in answer.json()["message"]


async def test_without_a_folder_nothing_is_saved() -> None:
    async with serving() as site:
        answer = await site.client.post(PATH, json=greeting(), params={"save": "true"})
        assert (answer.status_code, answer.json()["code"], len(site.engine.chains)) == (409, "server.no-folder", 0)


async def test_secrets_are_masked_and_come_back_as_they_were(tmp_path: Path) -> None:
    secret = "Tr0ub4dor-and-three"
    call = ("call", "restApiCall", {"url": "http://127.0.0.1:9/x", "proxyPassword": secret})
    folder = in_folder(tmp_path / "chains", chain("c", call))
    async with serving(folder=folder) as site:
        shown = (await site.client.get(f"{PATH}/c")).json()["definition"]
        assert secret not in json.dumps(shown)
        shown["ruleChain"]["name"] = "Renamed"
        shown["metadata"]["nodes"].insert(0, {"id": "first", "type": "fork"})
        answer = await site.client.put(f"{PATH}/c", json=shown, params={"save": "true"})
        assert (answer.status_code, secret in answer.text) == (200, False)
        nodes = site.engine.get("c").definition.nodes
        assert [node.configuration.get("proxyPassword") for node in nodes] == [None, secret]
    assert secret in (folder / "c.json").read_text()


async def test_nothing_is_changed_on_a_server_that_is_read_only() -> None:
    async with serving(greeting(), settings=ServiceSettings(read_only=True)) as site:
        answers = [
            await site.client.post(PATH, json=greeting("x")),
            await site.client.put(f"{PATH}/hello", json=greeting()),
            await site.client.delete(f"{PATH}/hello"),
        ]
        assert [one.json()["code"] for one in answers] == ["server.read-only"] * 3
        assert (await site.run("hello", {"name": "Ann"})).status_code == 200


async def test_runs_finish_on_a_chain_that_is_deleted() -> None:
    async with serving(held()) as site:
        run = asyncio.create_task(site.run("held", 1))
        await site.until(lambda: len(site.app.service.runs))
        (held_one,) = site.engine.chains.values()
        deleting = asyncio.create_task(site.client.delete(f"{PATH}/held"))
        await site.until(lambda: held_one.stopping)
        site.gate.set()
        assert [(await one).status_code for one in (deleting, run)] == [204, 200]


async def test_no_run_is_lost_while_its_chain_is_replaced_again_and_again() -> None:
    async with serving(greeting()) as site:
        is_over = False
        answers: list[tuple[int, str]] = []

        async def client() -> None:
            while not is_over:
                answer = await site.run("hello", {"name": "Ann"})
                answers.append((answer.status_code, answer.json()["data"]["text"]))

        clients = [asyncio.create_task(client()) for _ in range(4)]
        for number in range(20):
            changed = await site.client.put(f"{PATH}/hello", json=greeting(text=f"Hello{number}"))
            assert changed.status_code == 200
            assert await says(site) == f"Hello{number} Ann"
        is_over = True
        await asyncio.gather(*clients)
    assert {status for status, _ in answers} == {200}
    assert len({text for _, text in answers}) > 1


async def test_a_chain_is_taken_out_of_service_by_its_own_id_alone() -> None:
    async with serving() as site:
        site.engine.load(greeting("original"), id="copy")
        assert (await site.client.get("/api/v1/chains/original")).json()["id"] == "copy"
        refused = await site.client.delete("/api/v1/chains/original")
        assert (refused.status_code, refused.json()["code"]) == (409, "chain.other-id")
        assert refused.json()["hint"].startswith("DELETE /api/v1/chains/copy ")
        assert (await site.client.delete("/api/v1/chains/copy")).status_code == 204
