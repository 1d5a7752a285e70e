"""Runs of packets in sequence (`arrivals`) and rows of instruments (`instruments`), by kernel."""
