"""Model events out as entries and messages of PUMA Conflated, without sessions, sockets or a clock.

entries     one update of books, trades and statistics -> one entry of 35=X or 35=W
books       the books of all instruments as of the last tick, as entries
levels      those by price level
desks       the same of bands, clearing, lending and indices; the table of all statistics
listings    instruments (35=y), phases and states (35=f), news (35=B), as fields
conflation  what an order book has to be told at a tick (6.6)
snapshots   the entries of 35=W
bulletins   what is told, encoded once for everybody, and the queue of what waits for others
history     trades and index values to be asked for again (7.6), market totals (7.7)
feed        all of it: events in, bulletins for whoever subscribed out: `ConflatedFeed`

Sections in brackets are those of UMDF PUMA Conflated, version 2.1.1.
"""
