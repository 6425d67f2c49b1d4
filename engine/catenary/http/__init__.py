"""HTTP to the outside: clients with limits, refusal of dangerous addresses, and reading of event streams.

```python
clients = HttpClients(allowed_hosts=["*.example.com"])
client = clients.client(HttpOptions(read_timeout_s=5.0))
answer = await client.request("GET", "https://api.example.com/items")
async with client.stream("POST", "https://api.example.com/chat", content=body) as answer:
    async for event in sse_events(answer):
        print(event.data)
await clients.close()
```

This package is the only place that knows which HTTP library is used; it is imported at the first request.
What goes wrong is raised as `ConnectFailed`, `TooSlow` or `Refused`; texts name host and port, never path, query or
user.
"""

from __future__ import annotations

from catenary.http.client import HttpClient, HttpClients
from catenary.http.guard import Guard
from catenary.http.inprocess import AsgiApp, register_mock, unregister_mock
from catenary.http.options import HttpOptions, proxy_address
from catenary.http.response import HttpResponse
from catenary.http.retries import retry_after_s, retryable_status, wait_before
from catenary.http.sse import SseEvent, SseParser, sse_events, sse_lines
from catenary.http.texts import WebTexts

__all__ = [
    "AsgiApp",
    "Guard",
    "HttpClient",
    "HttpClients",
    "HttpOptions",
    "HttpResponse",
    "SseEvent",
    "SseParser",
    "WebTexts",
    "proxy_address",
    "register_mock",
    "retry_after_s",
    "retryable_status",
    "sse_events",
    "sse_lines",
    "unregister_mock",
    "wait_before",
]
