"""Rows of a market of 2,000 instruments, from one simulated day: what the book benchmark is fed with.

The simulated day has some two hundred instruments. Each of the 2,000 lives through the day of one of
them, with ids of its own; which one has the next event is drawn by Zipf's law (exponent 1). One that is
through with its day lives it again: what is left in its book is deleted first, order by order. So is
what is left at the end of the stream, so that it can be played again with shifted ids.
"""

import shutil
import tempfile
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from pregao.model.rows import NULL, ROW, Flag, Kind, Rows
from pregao.simulator import Settings, simulate

INSTRUMENTS = 2_000
MESSAGES = 200_000
SEED = 8
_KEPT = Path("build/bench-orders-2.npy")
_NEW, _CHANGE, _DELETE = 0, 1, 2
ID_STEP = 1 << 34  # between two lives of a day: ids of one do not span more


def day_of_orders() -> Rows:
    """The order updates of a simulated day as rows, made once."""
    if _KEPT.exists():
        kept: Rows = np.load(_KEPT)
        return kept
    folder = Path(tempfile.mkdtemp(prefix="pregao-bench-"))
    try:
        simulate(Settings(out=folder, messages=MESSAGES))
        rows = read_orders(next(folder.rglob("truth/events/order_update.parquet")))
    finally:
        shutil.rmtree(folder)
    _KEPT.parent.mkdir(exist_ok=True)
    np.save(_KEPT, rows)
    return rows


def read_orders(path: Path) -> Rows:
    table = pq.read_table(path)
    columns = {name: table[name].to_numpy() for name in ("channel", "event", "action", "side", "security_id")}
    rows = np.zeros(table.num_rows, ROW)
    rows["kind"], rows["version"] = Kind.ORDER, 16
    for name, field in {
        "action": "action", "side": "side", "security_id": "security_id", "size": "size", "order_id": "id",
        "transact_ns": "time_ns", "inserted_ns": "inserted_ns", "position": "position",
    }.items():  # fmt: skip
        rows[field] = table[name].to_numpy()
    rows["price"] = table["price"].fill_null(NULL).to_numpy()
    rows["other"] = table["previous_size"].fill_null(NULL).to_numpy()
    rows["firm"] = table["firm"].fill_null(0).to_numpy()
    # Only for grouping: an event of a channel has rows of one or more instruments.
    rows["at"] = columns["channel"].astype(np.int64) << 40 | columns["event"]
    rows["flags"] = np.where(table["implied"].to_numpy(zero_copy_only=False), Flag.IMPLIED, 0)
    return rows


def _lives(day: Rows) -> list[Rows]:
    """The day of each instrument, with deletes of what is left, an id from 0 on, events marked."""
    lives = []
    for security_id in np.unique(day["security_id"]):
        rows = day[day["security_id"] == security_id]
        rows = np.concatenate([rows, _left(rows)])
        ends = np.append(rows["at"][1:] != rows["at"][:-1], True)
        rows["flags"] |= np.where(ends, Flag.END_OF_EVENT, 0).astype(np.uint8)
        _, rows["id"] = np.unique(rows["id"], return_inverse=True)  # in the same order
        lives.append(rows)
    return lives


def _left(rows: Rows) -> Rows:
    """Deletes of the orders that are there at the end, each an event."""
    alive: dict[tuple[int, int], int] = {}
    for number, (action, side, order_id) in enumerate(rows[["action", "side", "id"]].tolist()):
        if action == _DELETE:
            alive.pop((side, order_id), None)
        else:
            alive[side, order_id] = number
    deletes = rows[list(alive.values())]
    deletes["action"], deletes["other"] = _DELETE, NULL
    deletes["at"] = np.arange(len(deletes)) + (1 << 50)
    return deletes


def market(day: Rows, count: int, instruments: int = INSTRUMENTS, seed: int = SEED) -> Rows:
    """About `count` rows of the whole market, in the order of the stream."""
    draw = np.random.default_rng(seed)
    lives = _lives(day)
    chosen = draw.integers(0, len(lives), instruments)
    share = 1 / np.arange(1, instruments + 1)
    average = np.mean([len(life) / np.count_nonzero(life["flags"] & 1) for life in lives])
    turns = draw.choice(instruments, int(count / average), p=share / share.sum())
    order = np.argsort(turns, kind="stable")
    bounds = np.searchsorted(turns[order], np.arange(instruments + 1))
    parts, places = [], []
    for number in range(instruments):
        life, when = lives[chosen[number]], order[bounds[number] : bounds[number + 1]]
        rows, turn = _live(life, len(when))
        rows["security_id"] = 100_000_000_000 + 7 * number
        rows["id"] += (number + 1) << 36
        parts.append(rows)
        after = np.full(turn[-1] + 1, len(turns)) if len(turn) else when  # the last deletes end the stream
        places.append(np.append(when, after)[turn])
    stream = np.concatenate(parts)[np.argsort(np.concatenate(places), kind="stable")]
    stream["at"] = np.arange(len(stream))
    return stream


def _live(life: Rows, events: int) -> tuple[Rows, np.ndarray]:
    """The first so many events of a day lived again and again, then the deletes of what is left; and
    the number of the event of each row."""
    number = _event_numbers(life)
    times, rest = divmod(events, int(number[-1]) + 1)
    again = [life.copy() for _ in range(times)]
    started = life[number < rest]
    again.append(np.concatenate([started, _left(started)]))
    again[-1]["flags"][len(started) :] |= int(Flag.END_OF_EVENT)
    for time, rows in enumerate(again):
        rows["id"] += time << 24
    whole = np.concatenate(again)
    return whole, _event_numbers(whole)


def _event_numbers(rows: Rows) -> np.ndarray:
    ends = (rows["flags"] & 1).astype(np.int64)
    return np.cumsum(ends) - ends
