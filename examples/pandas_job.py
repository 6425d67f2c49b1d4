"""A batch job over a table: every row goes through a chain, rows that fail are kept apart.

python examples/pandas_job.py
"""

from __future__ import annotations

from typing import Any

import pandas as pd

from catenary import Engine, Outcome

CHAIN: dict[str, Any] = {
    "ruleChain": {"id": "price", "name": "Price an order"},
    "metadata": {
        "nodes": [
            {
                "id": "price",
                "type": "exprTransform",
                "configuration": {"mapping": {"order": "msg.order", "total": "msg.count * global.prices[msg.item]"}},
            },
        ],
        "connections": [],
    },
}

ORDERS = pd.DataFrame({"order": [1, 2, 3, 4], "item": ["bolt", "nut", "saw", "bolt"], "count": [200, 100, 1, 50]})
PRICES = {"bolt": 0.12, "nut": 0.05}


def priced(orders: pd.DataFrame) -> tuple[pd.DataFrame, list[int]]:
    """Give the prices of the orders, and the numbers of those that have none."""
    refused: list[int] = []

    def refuse(order: dict[str, Any], _outcome: Outcome) -> None:
        refused.append(order["order"])

    with Engine({"prices": PRICES}) as engine:
        chain = engine.load(CHAIN)
        outcomes = chain.map_sync(orders.to_dict("records"), on_error=refuse)
        return pd.DataFrame([outcome.message.value for outcome in outcomes]), refused


def main() -> None:
    """Print the table of prices, and what has none."""
    table, refused = priced(ORDERS)
    print(table.to_string(index=False))
    print(f"no price: {refused}")


if __name__ == "__main__":
    main()
