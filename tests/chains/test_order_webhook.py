"""The webhook chain on `catenary serve`: orders come in by HTTP and are found again, also by the next server."""

from __future__ import annotations

import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.server.kit import get, started
from tests.server.kit import post as send

FOLDER = Path(__file__).parents[2] / "chains"
ORDER = json.loads((FOLDER / "order-webhook.input.json").read_text())

pytestmark = pytest.mark.timeout(90)  # each starts programs


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "chains").mkdir()
    shutil.copy(FOLDER / "order-webhook.yaml", tmp_path / "chains")
    return tmp_path


def post(url: str, order: Any) -> httpx.Response:
    return send(f"{url}/webhooks/orders", json=order)


def test_an_order_that_is_sent_twice_is_kept_once_and_outlives_the_server(folder: Path) -> None:
    with started(folder, "chains") as server:
        assert post(server.url, ORDER).json() == {"id": "A-17", "isNew": True}
        assert post(server.url, {**ORDER, "total": 1}).json() == {"id": "A-17", "isNew": False}
        assert server.stop() == 0
    with started(folder, "chains") as server:
        found = get(f"{server.url}/orders/A-17")
        assert found.json() == {"id": "A-17", "customer": "Bolts & Nuts", "total": 250}


def test_what_is_no_order_is_refused_with_the_reason(folder: Path) -> None:
    with started(folder, "chains") as server:
        answers = [post(server.url, order) for order in ({"id": "B-1"}, {"id": "B-1", "total": -1})]
    assert [answer.status_code for answer in answers] == [400, 400]
    assert "total is required" in answers[0].text
    assert "an order needs an id and a total" in answers[1].text


def test_an_order_that_is_not_there_is_told(folder: Path) -> None:
    with started(folder, "chains") as server:
        answer = get(f"{server.url}/orders/A-18' or 1=1")
    assert (answer.status_code, answer.text) == (400, "Error: there is no order A-18' or 1=1")


def test_of_many_at_once_each_is_kept_once(folder: Path) -> None:
    with started(folder, "chains") as server:
        orders: list[dict[str, Any]] = [{"id": f"C-{number % 20}", "total": 1} for number in range(60)]
        with ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(partial(post, server.url), orders))
        assert sum(answer.json()["isNew"] for answer in answers) == 20


def test_its_routes_are_in_the_document(folder: Path) -> None:
    with started(folder, "chains") as server:
        document = get(f"{server.url}/openapi.json").json()
    assert document["paths"]["/webhooks/orders"]["post"]["summary"] == "Take an order in"
    assert "get" in document["paths"]["/orders/{id}"]
