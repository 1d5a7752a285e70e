"""Multicast channels without sockets, files, clocks or encodings: arbitration, gaps, loops, healing."""
