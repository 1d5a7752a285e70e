"""B3's certification script, played offline: scenario files, a runner without I/O, a comparator, a report."""
