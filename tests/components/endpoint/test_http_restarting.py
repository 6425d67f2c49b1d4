"""`http` endpoints with other settings: who is being answered is answered, and nobody else is refused meanwhile."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from tests.components.endpoint.serving_chains import chain, router

from catenary import Component, Engine, Message
from catenary.component import Config
from catenary.testing import free_port
from catenary_components.endpoint.listening import Listener, listeners_of
from catenary_server import create_app

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

HOLD = [{"id": "hold", "type": "holdOfHttp"}]


class Site:
    """An engine whose chain waits for an event with `/slow`, behind a server on an address."""

    def __init__(self, server: str, address: str) -> None:
        self.engine = Engine()
        self.begun = 0
        self.go_on = asyncio.Event()
        self.server = server
        self.client = httpx.AsyncClient(base_url=f"http://{address}", timeout=15)
        site = self

        class Hold(Component[Config]):
            """Wait, if that is what the query says."""

            async def run(self, ctx: object, msg: Message, /) -> str:
                if msg.type == "/in?slow=1":
                    site.begun += 1
                    await site.go_on.wait()
                return "Success"

        self.engine.registry.register("holdOfHttp", category="action")(Hold)

    def written(self, **configuration: Any) -> dict[str, Any]:
        return chain([router("GET", "/in")], HOLD, server=self.server, **configuration)

    async def until(self, holds: Any) -> None:
        async with asyncio.timeout(15):
            while not holds():  # noqa: ASYNC110 - what is waited for tells nobody
                await asyncio.sleep(0.005)


@pytest.fixture(params=["own", "program"])
async def site(request: pytest.FixtureRequest) -> AsyncGenerator[Site]:
    """A site on an address of its own, and one on the server of the API."""
    address = f"127.0.0.1:{free_port()}"
    site = Site(address if request.param == "own" else "ref://server", address)
    listener = None
    if request.param == "program":
        from catenary_components.endpoint.address import Address

        listener = Listener(Address.read(address), app=create_app(site.engine))
        await listener.open()
    site.engine.load(site.written())
    async with site.engine, site.client:
        await site.engine.endpoints.settled()
        yield site
        site.go_on.set()
    if listener is not None:
        await listener.close()


async def test_a_long_answer_holds_up_nobody_while_its_endpoint_gets_other_settings(site: Site) -> None:
    slow = asyncio.create_task(site.client.get("/in?slow=1"))
    await site.until(lambda: site.begun)
    site.engine.reload(site.written(maxBodyBytes=99))
    for _ in range(20):
        assert (await site.client.get("/in")).status_code == 200
        await asyncio.sleep(0.02)  # longer, all in all, than a route that is gone is waited for
    (status,) = site.engine.endpoints.status()
    assert status.state == "connected"
    assert (await site.client.request("GET", "/in", content=b"")).status_code == 200
    assert not slow.done()
    site.go_on.set()
    assert (await slow).status_code == 200
    await site.engine.endpoints.settled()
    assert len(list(listeners_of(site.engine))) == (site.server != "ref://server")


async def test_the_settings_that_came_last_count_when_there_are_ever_others(site: Site) -> None:
    slow = asyncio.create_task(site.client.get("/in?slow=1"))
    await site.until(lambda: site.begun)
    for number in range(5):
        site.engine.reload(site.written(apiKeys=[f"key-{number}"]))
        await asyncio.sleep(0)
    site.go_on.set()
    assert (await slow).status_code == 200
    await site.engine.endpoints.settled()
    asked = [await site.client.get("/in", headers={"x-api-key": f"key-{number}"}) for number in (3, 4)]
    assert [answer.status_code for answer in asked] == [401, 200]


async def test_the_address_is_lent_to_others_after_a_restart() -> None:
    address = f"127.0.0.1:{free_port()}"
    site = Site(address, address)
    borrower = {"id": "more", "type": "http", "configuration": {"server": "ref://web"}}
    site.engine.load(site.written())
    async with site.engine, site.client:
        changed = site.written(maxBodyBytes=99)
        site.engine.reload(changed)
        await site.engine.endpoints.settled()
        changed["metadata"]["endpoints"].append({**borrower, "routers": [router("GET", "/more")]})
        site.engine.reload(changed)
        await site.engine.endpoints.settled()
        assert (await site.client.get("/more")).status_code == 200


async def test_a_route_that_moves_to_another_chain_is_there_all_the_time(site: Site) -> None:
    statuses: list[int] = []
    is_over = asyncio.Event()

    async def ask() -> None:
        while not is_over.is_set():
            statuses.append((await site.client.get("/in")).status_code)

    asking = [asyncio.create_task(ask()) for _ in range(3)]
    moved = site.written()
    moved["ruleChain"]["id"] = "other"
    site.engine.load(moved)
    await site.engine.endpoints.settled()
    (before, after) = site.engine.endpoints.status()
    assert (before.state, after.state) == ("connected", "reconnecting")
    assert "/in is there twice" in after.error
    site.engine.remove("api")
    await site.until(lambda: [one.state for one in site.engine.endpoints.status()] == ["connected"])
    await site.until(lambda: len(statuses) > 50)
    is_over.set()
    await asyncio.gather(*asking)
    assert set(statuses) == {200}


async def test_a_router_that_another_chain_gives_up_is_taken_over_at_once(site: Site) -> None:
    both = [router("GET", "/in"), router("GET", "/more")]
    site.engine.load(chain([router("GET", "/more")], HOLD, server=site.server, chain_id="other"))
    await site.engine.endpoints.settled()
    site.engine.reload(chain(both, HOLD, server=site.server))
    await site.engine.endpoints.settled()
    assert {one.chain_id: one.state for one in site.engine.endpoints.status()}["api"] == "reconnecting"
    assert (await site.client.get("/in")).status_code == 200
    site.engine.reload(chain([router("GET", "/less")], HOLD, server=site.server, chain_id="other"))
    await site.until(lambda: all(one.state == "connected" for one in site.engine.endpoints.status()))
    assert [(await site.client.get(path)).status_code for path in ("/in", "/more", "/less")] == [200, 200, 200]
