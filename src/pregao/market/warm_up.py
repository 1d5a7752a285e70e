"""What would make the first packets of a live market slow is done before they come.

Measured: the first packet took 467 ms while kernels were loaded from disk, and a full collection of the
interpreter takes 0.1 s where numba and pyarrow are loaded.
"""

import gc
from typing import Final

from pregao.books.kernels.lookups import count_ahead, find_order, read_levels, read_orders
from pregao.books.kernels.rows import clear_instrument, load_rows, settle
from pregao.books.kernels.statistics import empty_slots, forget_auction, reset_session
from pregao.feeds.port import MulticastSystem
from pregao.handler.kernels.rows import (
    apply_held,
    end_without_row,
    take_phase,
    take_rows,
    whole_events,
)
from pregao.handler.kernels.sorting import sort_packets
from pregao.kernels import Kernel, make_ready
from pregao.market.kernels import note_times
from pregao.recovery.kernels.arrivals import take_in_sequence
from pregao.recovery.kernels.instruments import first_report_after

LIVE_KERNELS: Final[tuple[Kernel, ...]] = (
    sort_packets, take_in_sequence, whole_events, take_rows, take_phase, apply_held,
    load_rows, clear_instrument, settle, empty_slots, forget_auction, reset_session,
    first_report_after, note_times, end_without_row, read_levels, read_orders, find_order, count_ahead,
)  # fmt: skip


def warm_up(system: MulticastSystem) -> None:
    make_ready((*LIVE_KERNELS, *system.live_kernels()))
    gc.collect()
    gc.freeze()  # what is there now stays: collections go through what comes after it only
