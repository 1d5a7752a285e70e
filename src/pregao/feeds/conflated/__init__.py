"""UMDF PUMA Conflated: FIX 4.4 over TCP sessions, behind the port as a session system (see `system`)."""
