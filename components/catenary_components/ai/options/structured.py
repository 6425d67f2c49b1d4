"""The settings of answers that are JSON."""

from __future__ import annotations

from typing import Literal

from catenary.component import Config, option


class StructuredOptions(Config):
    """How an agent gets an answer that fits `params.responseFormat` and `params.jsonSchema`."""

    structured_output: Literal["auto", "native", "tool"] = option(
        "auto",
        help="How the model is told the form: `native` by the request, `tool` by a tool `generate_response` that it "
        "calls with the answer, `auto` the first where the service can, and the second where it cannot.",
    )
    repair_rounds: int = option(
        2, ge=0, help="How often the model is told what is wrong with its answer and asked again."
    )
