"""What is counted of books: orders, and updates that did not fit (`anomalies`)."""

from pregao.books import layout as t
from pregao.books.anomalies import Anomaly
from pregao.books.kernels.arena import add_to
from pregao.kernels import inlined, kernel, load_i64, load_u32, store_8, store_32

ORDER_EXISTS, UNKNOWN_CHANGE = int(Anomaly.ORDER_EXISTS), int(Anomaly.UNKNOWN_CHANGE)
UNKNOWN_DELETE, PRICE_DIFFERS = int(Anomaly.UNKNOWN_DELETE), int(Anomaly.PRICE_DIFFERS)
ID_DIFFERS, POSITION = int(Anomaly.ID_DIFFERS), int(Anomaly.POSITION)
MALFORMED, OVERFLOW = int(Anomaly.MALFORMED), int(Anomaly.OVERFLOW)
PRICE_ORDER, POLICY = int(Anomaly.PRICE_ORDER), int(Anomaly.POLICY)


@kernel
def count_anomaly(context, header, anomaly):
    place = (header - load_i64(context, t.HEADERS)) // t.HEADER_SIZE * t.ANOMALIES_SIZE + anomaly * 4
    counters = load_i64(context, t.ANOMALIES)
    store_32(counters, place, load_u32(counters, place) + 1)
    store_8(header, t.SUSPECT, 1)


@inlined
def count_order(context, side, change):
    store_32(side, t.SIDE_ORDERS, load_u32(side, t.SIDE_ORDERS) + change)
    add_to(context, t.ORDERS_HELD, change)
