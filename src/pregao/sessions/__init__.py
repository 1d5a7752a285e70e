"""Protocol machines without sockets, files, clocks or encodings."""
