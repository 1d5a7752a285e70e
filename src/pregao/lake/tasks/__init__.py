"""One task per slice: rows to columns, columns to files, files to a manifest."""
