"""Questions about one book: its levels, its orders, an order's place in the queue."""
