"""Programs that run the same agents: catenary, three other libraries, and httpx by hand, each in its own process."""
