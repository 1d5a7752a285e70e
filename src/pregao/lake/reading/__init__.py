"""Reading one lake version: which files, which rows."""
