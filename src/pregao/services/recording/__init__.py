"""Recording: packets of many streams into capture files, rotated and whole. `pregao.services.record` joins
it with the sockets."""
