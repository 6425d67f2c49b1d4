"""A chain of `jsFilter` and `jsTransform` behind an `http` endpoint: `python by_chain.py PORT`."""

from __future__ import annotations

import asyncio
import sys

from catenary import Engine

FILTER = "return msg.temperature > 20;"
TRANSFORM = "msg.alarm = msg.temperature > 30; metadata.seen = '1'; return {msg, metadata, msgType};"


async def main(port: int) -> None:
    """Serve until the process is ended."""
    engine = Engine()
    engine.load(
        {
            "ruleChain": {"id": "readings"},
            "metadata": {
                "endpoints": [
                    {
                        "id": "web",
                        "type": "http",
                        "configuration": {"server": f"127.0.0.1:{port}"},
                        "routers": [
                            {
                                "params": ["POST"],
                                "from": {"path": "/in"},
                                "to": {"wait": True, "processors": ["responseToBody"]},
                            }
                        ],
                    }
                ],
                "nodes": [
                    {"id": "warm", "type": "jsFilter", "configuration": {"jsScript": FILTER}},
                    {"id": "alarm", "type": "jsTransform", "configuration": {"jsScript": TRANSFORM}},
                ],
                "connections": [{"fromId": "warm", "toId": "alarm", "type": "True"}],
            },
        }
    )
    async with engine:
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))
