"""What `pregao listen` shows: a screen on a terminal, lines elsewhere."""
