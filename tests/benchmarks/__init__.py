"""What `make bench` measures: throughput against memcpy and a plain loop, memory, and a cold start."""
