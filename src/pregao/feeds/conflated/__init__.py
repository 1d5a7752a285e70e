"""UMDF PUMA Conflated: FIX 4.4 sessions over TCP, books every 380 ms."""
