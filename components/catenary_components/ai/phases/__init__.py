"""The phases of agent loops: nodes that share one `AgentState`, wired by the chains in `topologies`."""
