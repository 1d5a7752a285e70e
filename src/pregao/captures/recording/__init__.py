"""Recording: packets of many streams into capture files, rotated and whole. `record` joins it with the
sockets."""
