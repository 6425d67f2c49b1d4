"""What `/metrics` says of the services that agents ask."""

from __future__ import annotations

from prometheus_client.parser import text_string_to_metric_families
from tests.server.kit import chain, serving

from catenary.testing import ScriptedModel, mock, server_error, too_many_requests


async def test_circuits_of_models_are_counted() -> None:
    script = ScriptedModel([server_error()], default="spare")
    config = {"url": "mock://metered", "model": "m", "maxRetries": 0, "failover": [{"model": "spare"}]}
    async with serving() as site:
        with mock("metered", script):
            site.engine.load(chain("c", ("a", "ai/agent", config)))
            assert (await site.run("c", "hi")).status_code == 200
        text = (await site.client.get("/metrics")).text
    samples = {
        (sample.name, sample.labels["model"]): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.labels.get("node") == "a" and "model" in sample.labels
    }
    assert samples == {
        ("catenary_model_circuit_state", "m"): 2,
        ("catenary_model_circuit_state", "spare"): 0,
        ("catenary_model_calls_total", "m"): 1,
        ("catenary_model_calls_total", "spare"): 1,
        ("catenary_model_failures_total", "m"): 1,
        ("catenary_model_failures_total", "spare"): 0,
    }


async def test_retries_are_counted_by_what_went_wrong() -> None:
    script = ScriptedModel([too_many_requests(retry_after=0), too_many_requests(retry_after=0)], default="ok")
    async with serving() as site:
        with mock("patient", script):
            site.engine.load(chain("c", ("a", "ai/agent", {"url": "mock://patient", "model": "m"})))
            assert (await site.run("c", "hi")).status_code == 200
        text = (await site.client.get("/metrics")).text
    assert 'catenary_model_retries_total{chain="c",kind="rate_limit",node="a"} 2.0' in text
