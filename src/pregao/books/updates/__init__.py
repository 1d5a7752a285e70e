"""One row onto one book, by kernel."""
