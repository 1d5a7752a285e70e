"""Order books, statistics and what phases come to, from what the feeds tell, by kernel (`store`). The plain
twin of the books is `tests/twins/plain_book.py`."""
