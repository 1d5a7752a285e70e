"""What would make the first packets of a live market slow is done before they come.

Measured: the first packet took 467 ms while kernels were loaded from disk, and a full collection of the
interpreter takes 0.1 s where numba and pyarrow are loaded.
"""

import gc
from typing import Final

from pregao.books.kernels.lookups import count_ahead, find_order, read_levels, read_orders
from pregao.books.kernels.rows import clear_instrument, load_rows, settle
from pregao.books.kernels.statistics import empty_slots, forget_auction, reset_session
from pregao.feeds.binary.handler.kernels.heartbeats import take_beats
from pregao.feeds.binary.handler.kernels.rows import (
    apply_held,
    end_without_row,
    take_phase,
    take_rows,
    whole_events,
)
from pregao.feeds.binary.handler.kernels.sorting import sort_packets
from pregao.feeds.binary.reading.kernels.packets import read_rows
from pregao.kernels import Kernel, make_ready
from pregao.market.kernels import note_times
from pregao.recovery.kernels.arrivals import take_in_sequence
from pregao.recovery.kernels.instruments import first_report_after

LIVE_KERNELS: Final[tuple[Kernel, ...]] = (
    sort_packets, take_in_sequence, take_beats, read_rows, whole_events, take_rows, take_phase, apply_held,
    load_rows, clear_instrument, settle, empty_slots, forget_auction, reset_session,
    first_report_after, note_times, end_without_row, read_levels, read_orders, find_order, count_ahead,
)  # fmt: skip


def warm_up() -> None:
    make_ready(LIVE_KERNELS)
    gc.collect()
    gc.freeze()  # what is there now stays: collections go through what comes after it only
