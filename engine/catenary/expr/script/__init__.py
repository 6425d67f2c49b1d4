"""JavaScript behind one interface: the call, the host, the engines."""
