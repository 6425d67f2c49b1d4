"""Who may run what: rules, modes, dangerous things, and the gate that every call of a tool goes through."""
