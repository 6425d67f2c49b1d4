"""For tests of chains and components: a scripted model, a small HTTP API, a clock that is told the time.

```python
model = ScriptedModel(["Hello", calls("weather", city="Oslo"), too_many_requests(retry_after=2)])
with serve(model) as server:
    ...  # give server.url + "/v1" as the `url` of an `ai/agent` node
print(model.requests[0].messages)
```

`with mock("name", model):` answers the address `mock://name` from the same script without a socket. The fixtures
`engine`, `scripted_model`, `recording_api`, `fake_clock` and `free_port` come with the pytest plugin.
"""

from __future__ import annotations

from catenary.testing.api import Answer, RecordedRequest, RecordingApi
from catenary.testing.clock import FakeClock
from catenary.testing.mocks import mock
from catenary.testing.model import ModelRequest, ScriptedModel
from catenary.testing.replies import Reply, ToolCall, calls, dropped, server_error, too_many_requests
from catenary.testing.serving import Server, free_port, serve

__all__ = [
    "Answer",
    "FakeClock",
    "ModelRequest",
    "RecordedRequest",
    "RecordingApi",
    "Reply",
    "ScriptedModel",
    "Server",
    "ToolCall",
    "calls",
    "dropped",
    "free_port",
    "mock",
    "serve",
    "server_error",
    "too_many_requests",
]
