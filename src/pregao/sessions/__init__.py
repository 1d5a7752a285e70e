"""FIX sessions and replay requests, without sockets, files or clocks."""
