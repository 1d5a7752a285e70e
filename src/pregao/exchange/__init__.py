"""The simulated exchange: commands in, model events out. No clock, no I/O, no encodings."""
