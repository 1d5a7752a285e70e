"""From a capture file to what is in it."""
