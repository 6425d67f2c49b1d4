"""The gateway: what serves chains and agents to other programs over HTTP. Nothing of it is in this version."""
