"""Who may call: addresses, keys, pages of other servers, certificates; and how much they may send."""

from __future__ import annotations

import asyncio
import ssl
import subprocess
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.components.endpoint.serving_chains import address_of, chain, echo, router, served

from catenary import ChainInvalid, Engine
from catenary_components.endpoint.cors import Cors
from catenary_components.endpoint.routing import Route, RouteTable

WIDE = "0.0.0.0:0"


@pytest.mark.parametrize("server", [WIDE, "[::]:0", "example.com:80"])
def test_an_address_that_other_machines_reach_needs_keys_or_a_word(server: str) -> None:
    with Engine() as engine, pytest.raises(ChainInvalid, match=r"other machines can connect.*apiKeys.*anonymous: true"):
        engine.load(chain([router("GET", "/")], server=server))


@pytest.mark.parametrize("configuration", [{"apiKeys": ["k"]}, {"anonymous": True}])
async def test_a_wide_address_with_keys_or_a_word_is_served(configuration: dict[str, Any]) -> None:
    engine = Engine()
    engine.load(chain([router("GET", "/")], server=WIDE, **configuration))
    async with engine:
        port = address_of(engine).rpartition(":")[2]
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=15) as client:
            answer = await client.get("/", headers={"x-api-key": "k"})
    assert answer.status_code == 200


@pytest.mark.parametrize("server", ["", "nonsense", "127.0.0.1", "http://127.0.0.1:80", "127.0.0.1:70000"])
def test_an_address_that_is_none_is_told_at_load(server: str) -> None:
    with Engine() as engine, pytest.raises(ChainInvalid, match="must be an address such as"):
        engine.load(chain([router("GET", "/")], server=server))


@pytest.mark.parametrize(
    ("method", "path", "text"),
    [
        ("FETCH", "/", "'FETCH' is no method; write one of GET, POST"),
        ("", "/", "there is no method in `params`"),
        ("GET", "a", "the path 'a' must begin with '/'"),
        ("GET", "/a/*rest/b", "has something behind"),
        ("GET", "/a/:x/{x}", "two variables 'x'"),
        ("GET", "/a/../b", "has the part '..'"),
    ],
)
def test_a_router_that_no_request_fits_is_told_at_load(method: str, path: str, text: str) -> None:
    with Engine() as engine, pytest.raises(ChainInvalid) as caught:
        engine.load(chain([router(method, path)]))
    assert text in str(caught.value.problems)


async def test_without_a_key_nobody_gets_through() -> None:
    async with served(chain([router("GET", "/")], apiKeys=["one", "two"])) as client:
        none = await client.get("/")
        wrong = await client.get("/", headers={"authorization": "Bearer on"})
        bearer = await client.get("/", headers={"authorization": "bearer two"})
        header = await client.get("/", headers={"x-api-key": "one"})
    assert [none.status_code, wrong.status_code, bearer.status_code, header.status_code] == [401, 401, 200, 200]
    assert none.headers["www-authenticate"] == "Bearer"


async def test_an_endpoint_whose_key_has_no_value_admits_nobody_until_it_has_one() -> None:
    properties: dict[str, Any] = {}
    async with Engine(properties) as engine, httpx.AsyncClient(trust_env=False, timeout=15) as client:
        engine.load(chain([router("GET", "/")], apiKeys=["${global.key}"], server="127.0.0.1:0"))
        await engine.endpoints.settled()
        (before,) = engine.endpoints.status()
        properties["key"] = "s3cret-key"
        engine.reload_all()
        await engine.endpoints.settled()
        (after,) = engine.endpoints.status()
        answers = [
            await client.get(after.address, headers={"x-api-key": key}) for key in ("${global.key}", "s3cret-key")
        ]
    assert before.state == "reconnecting"
    assert before.error.startswith("one of its apiKeys is a placeholder without a value")
    assert [answer.status_code for answer in answers] == [401, 200]


def test_keys_are_shown_nowhere() -> None:
    with Engine({"key": "s3cret-key"}) as engine:
        loaded = engine.load(chain([router("GET", "/")], apiKeys=["${global.key}"]))
        assert "s3cret" not in repr(loaded.endpoints)
        assert "s3cret" not in str(loaded.to_dict())
        assert engine.masker.text("s3cret-key") == "****"


# Pages of other servers

PAGE = {"origin": "https://page.example"}
QUESTION = {**PAGE, "access-control-request-method": "POST", "access-control-request-headers": "x-a, content-type"}


async def test_pages_of_other_servers_are_refused_by_browsers_unless_allowed() -> None:
    async with served(chain([router("POST", "/")])) as client:
        question = await client.options("/", headers=QUESTION)
        answer = await client.post("/", headers=PAGE)
    assert question.status_code == 204
    assert not [name for name in (*question.headers, *answer.headers) if name.startswith("access-control")]


async def test_cors_lets_every_page_call() -> None:
    async with served(chain([router("POST", "/")], allowCors=True)) as client:
        question = await client.options("/", headers=QUESTION)
        answer = await client.post("/", headers=PAGE)
        plain = await client.post("/")
    assert question.status_code == 204
    assert question.headers["access-control-allow-origin"] == "*"
    assert question.headers["access-control-allow-methods"] == "POST"
    assert question.headers["access-control-allow-headers"] == "x-a, content-type"
    assert answer.headers["access-control-allow-origin"] == "*"
    assert "access-control-allow-origin" not in plain.headers


async def test_cors_of_some_origins_is_for_those_alone() -> None:
    given = chain([router("POST", "/")], allowCors=True, allowedOrigins=["https://page.example"])
    async with served(given) as client:
        ours = await client.post("/", headers=PAGE)
        other = await client.post("/", headers={"origin": "https://evil.example"})
        question = await client.options("/", headers={**QUESTION, "origin": "https://evil.example"})
    assert (ours.headers["access-control-allow-origin"], ours.headers["vary"]) == ("https://page.example", "Origin")
    assert "access-control-allow-origin" not in other.headers
    assert not [name for name in question.headers if name.startswith("access-control")]


async def test_a_page_may_read_that_there_is_no_such_path_or_method() -> None:
    async with served(chain([router("POST", "/a")], allowCors=True)) as client:
        unknown = await client.post("/b", headers=PAGE)
        wrong = await client.put("/a", headers=PAGE)
        questions = [
            await client.options(path, headers={**QUESTION, "access-control-request-method": "PUT"})
            for path in ("/a", "/b")
        ]
    assert [(one.status_code, one.headers["access-control-allow-origin"]) for one in (unknown, wrong)] == [
        (404, "*"),
        (405, "*"),
    ]
    for question in questions:
        assert (question.status_code, question.headers["access-control-allow-methods"]) == (204, "PUT")
        assert "access-control-max-age" not in question.headers


async def test_what_is_not_there_is_told_to_no_page_that_may_not_call() -> None:
    ours = chain([router("POST", "/a")], allowCors=True, allowedOrigins=["https://other.example"])
    closed = chain([router("POST", "/a")])
    for given in (ours, closed):
        async with served(given) as client:
            answers = [
                await client.post("/b", headers=PAGE),
                await client.put("/a", headers=PAGE),
                await client.options("/b", headers=QUESTION),
            ]
        assert not [name for one in answers for name in one.headers if name.startswith("access-control")]


async def test_a_route_without_cors_has_none_by_another_route_of_its_path() -> None:
    async def never(*given: Any) -> None:
        raise AssertionError(given)

    table = RouteTable()
    table.replace("open", [Route("POST", "/a", never, cors=Cors())])
    table.replace("closed", [Route("DELETE", "/a", never), Route("DELETE", "/b", never)])
    transport = httpx.ASGITransport(app=table)
    async with httpx.AsyncClient(transport=transport, base_url="http://x", timeout=15) as client:
        question = {**QUESTION, "access-control-request-method": "DELETE"}
        answers = [await client.options("/a", headers=question), await client.put("/b", headers=PAGE)]
    assert [one.status_code for one in answers] == [204, 405]
    assert not [name for one in answers for name in one.headers if name.startswith("access-control")]


async def test_a_page_may_read_that_a_key_is_needed() -> None:
    async with served(chain([router("POST", "/")], allowCors=True, apiKeys=["k"])) as client:
        question = await client.options("/", headers=QUESTION)
        answer = await client.post("/", headers=PAGE)
    assert (question.status_code, answer.status_code) == (204, 401)
    assert answer.headers["access-control-allow-origin"] == "*"


# Much


@pytest.mark.parametrize("is_told", [True, False])
async def test_a_body_that_is_too_long_is_413(is_told: bool) -> None:
    async def pieces() -> Any:
        for _ in range(100):
            yield b"x" * 1_000_000

    async with served(chain([router("POST", "/")], maxBodyBytes=1000)) as client:
        told = {"content-length": "100000000"} if is_told else {}
        answer = await client.post("/", content=pieces(), headers=told)
        after = await client.post("/", content=b"x" * 1000)
    assert (answer.status_code, answer.text) == (413, "the body is longer than 1000 bytes")
    assert after.status_code == 200


async def test_a_body_of_100_mb_arrives_where_it_may() -> None:
    node = {"id": "n", "type": "exprTransform", "configuration": {"mapping": {"size": "len(data)"}}}
    async with served(chain([router("POST", "/")], [node], maxBodyBytes=0, readTimeout=0)) as client:
        answer = await client.post("/", content=b"x" * 100_000_000, timeout=20)
    assert answer.json() == {"size": 100_000_000}


async def test_a_query_with_too_many_values_is_400() -> None:
    async with served(chain([router("GET", "/")])) as client:
        answer = await client.get("/?" + "a=1&" * 1001)
    assert answer.status_code == 400


# Certificates


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A certificate for 127.0.0.1, signed by itself, and its key."""
    folder = tmp_path_factory.mktemp("tls")
    files = folder / "certificate.pem", folder / "key.pem"
    subprocess.run(
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost "
        f"-addext subjectAltName=IP:127.0.0.1 -out {files[0]} -keyout {files[1]}".split(),
        check=True,
        capture_output=True,
    )
    return files


def with_tls(certificate: tuple[Path, Path], **configuration: Any) -> dict[str, Any]:
    files = {"certFile": str(certificate[0]), "certKeyFile": str(certificate[1])}
    return chain([router("POST", "/")], **files, **configuration)


async def test_with_a_certificate_it_speaks_https(certificate: tuple[Path, Path]) -> None:
    trust = ssl.create_default_context(cafile=certificate[0])
    engine = Engine()
    engine.load(with_tls(certificate))
    async with engine, httpx.AsyncClient(base_url=address_of(engine), verify=trust, timeout=15) as client:
        answer = await client.post("/", content="x" * 200_000)
    assert str(client.base_url).startswith("https://")
    assert len(answer.json()["data"]) == 200_000


async def test_somebody_who_never_shakes_hands_is_cut_off(certificate: tuple[Path, Path]) -> None:
    engine = Engine()
    engine.load(with_tls(certificate, readTimeout=0.2))
    async with engine:
        port = int(address_of(engine).rpartition(":")[2])
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        async with asyncio.timeout(15):
            assert await reader.read() == b""
        writer.close()


async def test_a_certificate_that_cannot_be_used_is_told_in_the_status(tmp_path: Path) -> None:
    (tmp_path / "bad.pem").write_text("no certificate")
    engine = Engine()
    engine.load(chain([router("GET", "/")], certFile=str(tmp_path / "bad.pem")))
    async with engine:
        (status,) = engine.endpoints.status()
    assert status.state == "reconnecting"
    assert "cannot be used" in status.error


# Files


async def test_a_form_with_files_is_json() -> None:
    files = [
        ("picture", ("a.bin", b"\x00\xff\r\n--x", "application/octet-stream")),
        ("note", ("ä.txt", "héllo".encode(), "text/plain")),
    ]
    async with served(chain([router("POST", "/")])) as client:
        answer = await client.post("/", data={"name": ["ann", "bob"], "age": "7"}, files=files)
    assert answer.json()["dataType"] == "JSON"
    assert answer.json()["data"] == {
        "name": ["ann", "bob"],
        "age": "7",
        "picture": {
            "filename": "a.bin",
            "contentType": "application/octet-stream",
            "size": 7,
            "encoding": "base64",
            "content": "AP8NCi0teA==",
        },
        "note": {
            "filename": "ä.txt",
            "contentType": "text/plain",
            "size": 6,
            "encoding": "utf-8",
            "content": "héllo",
        },
    }


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (b"", "multipart/form-data; boundary=x"),
        (b"--x\r\n", "multipart/form-data; boundary=x"),
        (b"--x--\r\n", "multipart/form-data"),
        (b"--x\r\n\r\n\r\n--x--\r\n", "multipart/form-data; boundary=x"),
        (b"--x\r\nContent-Disposition: form-data\r\n\r\nv\r\n--x--\r\n", "multipart/form-data; boundary=x"),
        (b"--x\r\nno blank line\r\n--x--\r\n", "multipart/form-data; boundary=x"),
        (
            b'--x\r\nContent-Disposition: form-data; name="a"\r\n\r\nv\r\n' * 2000 + b"--x--",
            "multipart/form-data; boundary=x",
        ),
    ],
)
async def test_a_form_that_cannot_be_read_is_400(body: bytes, content_type: str) -> None:
    async with served(chain([router("POST", "/")], [echo()])) as client:
        answer = await client.post("/", content=body, headers={"content-type": content_type})
    assert answer.status_code == 400, answer.text
    assert "form" in answer.text


async def test_bytes_that_are_no_text_arrive_as_they_are() -> None:
    asked = router("POST", "/")
    asked["from"]["processors"] = ["setBinaryDataType"]
    node = {"id": "n", "type": "jsTransform", "configuration": {"jsScript": "return {msg, metadata, msgType};"}}
    async with served(chain([asked], [node])) as client:
        answer = await client.post("/", content=b"\x00\xff\x80")
        text = await client.post(
            "/", content="grün".encode("latin-1"), headers={"content-type": "text/plain; charset=latin-1"}
        )
    assert (answer.content, answer.headers["content-type"]) == (b"\x00\xff\x80", "application/octet-stream")
    assert text.content == "grün".encode()


READING = {"type": "object", "required": ["t"], "properties": {"t": {"type": "number"}}}


@pytest.mark.parametrize(
    ("body", "content_type", "status", "text"),
    [
        (b'{"t":1}', "application/json", 200, '"t":1'),
        (b'{"t":"x"}', "application/json", 400, "t must be of type number"),
        (b"{}", "application/json", 400, "the body does not fit: t"),
        (b"{", "application/json", 400, "the body is no JSON"),
        (b'{"t":1}', "text/plain", 415, "the body must be application/json"),
    ],
)
async def test_a_body_that_does_not_fit_its_schema_never_reaches_the_chain(
    body: bytes, content_type: str, status: int, text: str
) -> None:
    async with served(chain([router("POST", "/", additionalInfo={"schema": READING})])) as client:
        answer = await client.post("/", content=body, headers={"content-type": content_type})
    assert answer.status_code == status
    assert text in answer.text


# Paths and headers that mean harm


@pytest.mark.parametrize(
    "path",
    [
        "/files/../../etc/passwd",
        "/files/%2e%2e/%2e%2e/etc/passwd",
        "/files/..%2f..%2fetc",
        "/files/a%5c..%5cb",
        "/files/a%00",
    ],
)
async def test_a_path_that_leads_out_of_a_folder_fits_no_route(path: str) -> None:
    engine = Engine()
    engine.load(chain([router("GET", "/files/*rest")]))
    async with engine:
        reader, writer = await asyncio.open_connection(*address_of(engine).removeprefix("http://").split(":"))
        writer.write(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        answer = await reader.readuntil(b"\r\n")
        writer.close()
    assert answer == b"HTTP/1.1 404 Not Found\r\n"


PASSED_ON = {"processors": ["metadataToHeaders", "responseToBody"]}


async def test_metadata_cannot_smuggle_headers_into_the_answer() -> None:
    script = (
        "metadata['X'] = metadata.x; metadata['bad\\r\\nname'] = '1'; metadata['Content-Length'] = '7';"
        "metadata.Y = 'ok'; return {msg, metadata}"
    )
    node = {"id": "headers", "type": "jsTransform", "configuration": {"jsScript": script}}
    async with served(chain([router("GET", "/", PASSED_ON)], [node])) as client:
        answer = await client.get("/?x=1%0d%0aSet-Cookie:%20a%3Db")
    assert "set-cookie" not in answer.headers
    assert "bad" not in str(answer.headers)
    assert answer.headers["x"] == "1 Set-Cookie: a=b"
    assert answer.headers["y"] == "ok"
    assert answer.json()


async def test_who_makes_somebody_follow_a_link_chooses_no_headers_of_the_answer() -> None:
    async with served(chain([router("GET", "/:Location", PASSED_ON)])) as client:
        answer = await client.get("/evil?Set-Cookie=a%3Db&Content-Type=text/html")
    assert {"set-cookie", "location", "_triggersource"}.isdisjoint(answer.headers)
    assert answer.headers["content-type"] == "application/json"


async def test_a_header_of_a_processor_that_would_be_two_is_not_sent() -> None:
    def split(router: Any, exchange: Any) -> None:
        exchange.answer.headers |= {"A": "1\r\nSet-Cookie: b", "C\r\nSet-Cookie": "d", "E": "f"}

    engine = Engine()
    engine.endpoints.processors.add("split", split)
    async with served(chain([router("GET", "/", {"processors": ["split"]})]), engine=engine) as client:
        answer = await client.get("/")
    assert {"a", "set-cookie"}.isdisjoint(answer.headers)
    assert answer.headers["e"] == "f"
