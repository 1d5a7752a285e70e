"""Statistics of an instrument: each is the row that told it last; a slot of kind 0 is empty. Those of each
stream (MDStreamID) have slots of their own; a state has no stream.

The plain twins are `statistics.Statistics` and `phases`.
"""

from pregao.books import layout as t
from pregao.books.kernels.arena import address_of, copy_words, take_block
from pregao.kernels import inlined, kernel, load_i64, load_u8, load_u16, load_u32, store_8, store_32
from pregao.model import rows as r
from pregao.model.market import (
    OLD_LEG,
    Action,
    Phase,
    PriceOrigin,
    State,
    StateEvent,
    TradeCondition,
    TradeSubType,
)
from pregao.model.rows import Flag, Kind

TRADE, BUST, LAST_TRADE, TOTALS = int(Kind.TRADE), int(Kind.BUST), int(Kind.LAST_TRADE), int(Kind.TOTALS)
OPENING, THEORETICAL, CLOSING = int(Kind.OPENING), int(Kind.THEORETICAL), int(Kind.CLOSING)
HIGH, LOW, SETTLEMENT = int(Kind.HIGH), int(Kind.LOW), int(Kind.SETTLEMENT)
OPEN_INTEREST, IMBALANCE = int(Kind.OPEN_INTEREST), int(Kind.IMBALANCE)
PRICE_BAND, QUANTITY_BAND, STATE = int(Kind.PRICE_BAND), int(Kind.QUANTITY_BAND), int(Kind.STATE)
INDEX, VWAP = int(Kind.INDEX), int(Kind.VWAP)
COMPOSITE, VOLATILITY = int(Kind.COMPOSITE), int(Kind.VOLATILITY)
BY_TIME, ELECTRONIC = int(Flag.BY_TIME), r.ELECTRONIC
DELETE = int(Action.DELETE)
PREVIOUS_DAY = PriceOrigin.PREVIOUS_DAY + 1  # as rows have it
NOT_LAST = int(TradeCondition.OUT_OF_SEQUENCE) | OLD_LEG  # 13.3.1, 19
LEG = int(TradeSubType.LEG)
SESSION_CHANGE = int(StateEvent.SESSION_CHANGE)
LEAVES_GROUP, REJOINS_GROUP = int(StateEvent.LEAVES_GROUP), int(StateEvent.REJOINS_GROUP)
OPEN, RESERVED, FORBIDDEN = int(State.OPEN), int(State.RESERVED), int(State.FORBIDDEN)
FINAL_CLOSING_CALL, PRE_CLOSE = int(State.FINAL_CLOSING_CALL), int(Phase.PRE_CLOSE)


@inlined
def slot_at(context, lines, slot):
    """Address of a slot of the statistics that lie at `lines`."""
    return address_of(context, lines) + slot * r.ROW_SIZE


@inlined
def is_main(stream):
    """Whether it is the stream of the electronic market, which most messages do not name."""
    return stream == 0 or stream == ELECTRONIC


@kernel
def _find_stream(context, header, stream):
    lines = load_u32(header, t.STREAMS_AT)
    while lines != 0:
        head = address_of(context, lines)
        if load_u8(head, t.STREAM_NUMBER) == stream:
            return lines + 1
        lines = load_u32(head, t.STREAM_NEXT)
    return 0


@inlined
def find_statistics(context, header, stream):
    """Where those of a stream lie, in lines; 0: nowhere."""
    return load_u32(header, t.STATISTICS_AT) if is_main(stream) else _find_stream(context, header, stream)


@kernel
def _new_statistics(context, header, stream):
    """Empty ones, in lines; 0 when there is no room."""
    if is_main(stream):
        lines = take_block(context, t.FREE_STATISTICS, t.STATISTICS_BLOCK)
        if lines == 0:
            return 0
        store_32(header, t.STATISTICS_AT, lines)
    else:
        head = take_block(context, t.FREE_STREAMS, t.STREAM_BLOCK)
        if head == 0:
            return 0
        store_32(address_of(context, head), t.STREAM_NEXT, load_u32(header, t.STREAMS_AT))
        store_8(address_of(context, head), t.STREAM_NUMBER, stream)
        store_32(header, t.STREAMS_AT, head)
        lines = head + 1
    _empty(context, lines, 0, t.STATISTICS_SLOTS)
    return lines


@kernel
def _empty(context, lines, first, count):
    for slot in range(first, first + count):
        store_8(slot_at(context, lines, slot), r.KIND, 0)


@kernel
def empty_slots(context, header, first, count):
    """Of all streams."""
    lines = load_u32(header, t.STATISTICS_AT)
    if lines != 0:
        _empty(context, lines, first, count)
    head = load_u32(header, t.STREAMS_AT)
    while head != 0:
        _empty(context, head + 1, first, count)
        head = load_u32(address_of(context, head), t.STREAM_NEXT)


@kernel
def reset_session(context, header):
    """14.3."""
    empty_slots(context, header, 0, t.RESET_SLOTS)


@kernel
def forget_auction(context, header):
    """13.10."""
    empty_slots(context, header, t.THEORETICAL, 1)
    empty_slots(context, header, t.IMBALANCE, 1)


@inlined
def is_auction(phase, own):
    """Whether an instrument is in auction: the more restrictive of phase and state rules (14.1). A phase that
    is not known, 0, may be one. See `phases.may_be_auction`."""
    phase_is = phase in (0, RESERVED, FINAL_CLOSING_CALL)
    if own in (0, OPEN):
        return phase_is
    own_is = own in (RESERVED, FINAL_CLOSING_CALL)
    return own_is and (phase_is or phase in (OPEN, PRE_CLOSE))


@inlined
def own_after(own, phase, state, event, new_day):
    """See `phases.own_after`."""
    if state == 0 or event == REJOINS_GROUP:
        return 0
    if event == LEAVES_GROUP:
        return state
    if own == FORBIDDEN:
        return own
    if own == 0 and phase == 0:
        return 0
    if state == phase and (own == 0 or new_day):
        return 0
    return state


@kernel
def _apply_state(context, header, row, kept):
    phase, own = load_u8(header, t.GROUP_PHASE), load_u8(header, t.OWN_STATE)
    state, event = load_u8(row, r.TYPE), load_u8(row, r.DETAIL)
    new_day = load_u8(kept, r.KIND) != 0 and load_u16(kept, r.TRADE_DATE) != load_u16(row, r.TRADE_DATE)
    after = own_after(own, phase, state, event, new_day)
    was_auction = is_auction(phase, own)
    code = t.DONE
    if event == REJOINS_GROUP and state != 0 and state != phase:
        phase = state
        store_8(header, t.GROUP_PHASE, phase)
        code = t.REJOINED
    store_8(header, t.OWN_STATE, after)
    if was_auction and not is_auction(phase, after):
        forget_auction(context, header)
    if event == SESSION_CHANGE:
        reset_session(context, header)
    copy_words(row, kept, r.ROW_SIZE // 8)
    return code


@inlined
def slot_of(row, kind):
    """Where a row is kept; -1: nowhere."""
    if kind == TRADE:
        is_last = load_u32(row, r.CONDITION) & NOT_LAST == 0 and load_u8(row, r.DETAIL) != LEG
        return t.LAST_TRADE if is_last and load_i64(row, r.PRICE) != r.NULL else -1
    if kind == TOTALS:
        return t.TOTALS
    if kind == OPENING:
        return t.OPENING
    if kind == THEORETICAL:
        return t.THEORETICAL
    if kind == CLOSING:
        return t.PREVIOUS_CLOSING if load_u8(row, r.ORIGIN) == PREVIOUS_DAY else t.CLOSING
    if kind == HIGH:
        return t.HIGH
    if kind == LOW:
        return t.LOW
    if kind == LAST_TRADE:
        return t.LAST_TRADE
    if kind == SETTLEMENT:
        return t.PREVIOUS_SETTLEMENT if load_u8(row, r.ORIGIN) == PREVIOUS_DAY else t.SETTLEMENT
    if kind == OPEN_INTEREST:
        return t.OPEN_INTEREST
    if kind == IMBALANCE:
        return t.IMBALANCE
    if kind == QUANTITY_BAND:
        return t.QUANTITY_BAND
    if kind == VWAP:
        return t.VWAP
    if kind == INDEX:
        return t.INDEX
    if kind == COMPOSITE:
        return t.COMPOSITE
    if kind == VOLATILITY:
        return t.VOLATILITY
    if kind == PRICE_BAND and load_u8(row, r.TYPE) < t.BAND_TYPES:
        return t.BANDS + load_u8(row, r.TYPE)
    return -1


@kernel
def _bust(last, row):
    """The last trade is none any more (13.4)."""
    same_day = load_u16(last, r.TRADE_DATE) == load_u16(row, r.TRADE_DATE)
    if same_day and load_i64(last, r.ID) == load_i64(row, r.ID):
        store_8(last, r.KIND, 0)


@kernel
def _is_older(row, last):
    """Whether a trade is not the last one, by its time, then by its id."""
    time, known = load_i64(row, r.TIME), load_i64(last, r.TIME)
    return time < known or (time == known and load_i64(row, r.ID) < load_i64(last, r.ID))


@kernel
def _supersede(daily, row):
    """The price of the day before: what was that of the day then is no longer."""
    if load_u16(daily, r.TRADE_DATE) <= load_u16(row, r.TRADE_DATE):
        store_8(daily, r.KIND, 0)


@kernel
def apply_statistic(context, header, row):
    """A row that is not of the book."""
    kind = load_u8(row, r.KIND)
    slot = t.STATE if kind == STATE else slot_of(row, kind)
    lines = find_statistics(context, header, 0 if kind == STATE else load_u8(row, r.STREAM))
    if slot < 0:
        if kind == BUST and lines != 0:
            _bust(slot_at(context, lines, t.LAST_TRADE), row)
        return t.DONE
    if lines == 0:
        lines = _new_statistics(context, header, 0 if kind == STATE else load_u8(row, r.STREAM))
        if lines == 0:
            return t.NEEDS_MEMORY
    kept = slot_at(context, lines, slot)
    if kind == STATE:
        return _apply_state(context, header, row, kept)
    if load_u8(row, r.ACTION) == DELETE:
        store_8(kept, r.KIND, 0)
        return t.DONE
    if kind == TRADE and load_u8(row, r.FLAGS) & BY_TIME and load_u8(kept, r.KIND) and _is_older(row, kept):
        return t.DONE
    copy_words(row, kept, r.ROW_SIZE // 8)
    if kind == TRADE:
        store_8(kept, r.KIND, LAST_TRADE)
    elif slot == t.PREVIOUS_CLOSING or slot == t.PREVIOUS_SETTLEMENT:
        _supersede(slot_at(context, lines, slot - 1), row)
    return t.DONE
