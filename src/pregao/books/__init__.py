"""Order books, statistics and what phases come to, from what the feeds tell: by kernel (`store`), with a
plain twin (`reference`)."""
