"""The only place with sockets, files and clocks."""
