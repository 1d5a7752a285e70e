"""One slice of a unit: packets of both feeds merged, rows, books, findings."""
