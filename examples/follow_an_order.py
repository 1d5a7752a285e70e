"""Follow one order of another participant through the queue, from its entry to its end.

`orders=True` makes every change of a book an event. `queue_position` says how much is ahead of an order at
its price, which is what decides whether a passive order gets a fill.
"""

from pregao import Market, OrderAdded, OrderDeleted

market = Market.replay("build/sample", orders=True, symbols=["PETR4"])
order_id, ahead = None, None
for event in market:
    book = market.book("PETR4") if event.symbol == "PETR4" else None
    if order_id is None and isinstance(event, OrderAdded) and book.is_clean:
        place = book.queue_position(event.order_id)
        if place is not None and place.orders_ahead >= 4:  # one that has to wait
            order_id, ahead = event.order_id, place
            print(event)
            print(f"  {place.orders_ahead} orders with {place.size_ahead:,} ahead of it")
    elif order_id is not None and book is not None:
        place = book.queue_position(order_id)
        if place is not None and place != ahead:
            ahead = place
            print(f"  {place.orders_ahead} orders with {place.size_ahead:,} ahead of it")
        if isinstance(event, OrderDeleted) and event.order_id == order_id:
            print(event)
            break
