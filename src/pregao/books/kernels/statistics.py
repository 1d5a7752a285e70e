"""Statistics of an instrument: each is the row that told it last; a slot of kind 0 is empty.

The plain twins are `statistics.Statistics` and `phases`.
"""

from pregao.books import layout as t
from pregao.books.kernels.arena import address_of, copy_words, take_block
from pregao.kernels import inlined, kernel, load_i64, load_u8, load_u16, load_u32, store_8, store_32
from pregao.model import rows as r

TRADE, BUST, TOTALS, OPENING, THEORETICAL, CLOSING, HIGH, LOW, LAST_TRADE = 4, 5, 7, 8, 9, 10, 11, 12, 13
SETTLEMENT, OPEN_INTEREST, IMBALANCE, PRICE_BAND, QUANTITY_BAND, STATE = 14, 15, 16, 17, 18, 19
DELETE = 2
PREVIOUS_DAY = 4 + 1  # as rows have it
NOT_LAST = 1 << 3 | 1 << 5  # OutOfSequence (13.3.1), and the leg trade of older versions (19)
LEG = 102
SESSION_CHANGE, LEAVES_GROUP, REJOINS_GROUP = 4, 101, 102
OPEN, RESERVED, FORBIDDEN, PRE_CLOSE, FINAL_CLOSING_CALL = 17, 21, 18, 18, 101


@inlined
def slot_at(context, header, slot):
    return address_of(context, load_u32(header, t.STATISTICS_AT)) + slot * r.ROW_SIZE


@kernel
def reserve_statistics(context, header):
    if load_u32(header, t.STATISTICS_AT) != 0:
        return t.DONE
    lines = take_block(context, t.FREE_STATISTICS, t.STATISTICS_BLOCK)
    if lines == 0:
        return t.NEEDS_MEMORY
    store_32(header, t.STATISTICS_AT, lines)
    for slot in range(t.STATISTICS_SLOTS):
        store_8(slot_at(context, header, slot), r.KIND, 0)
    return t.DONE


@kernel
def empty_slots(context, header, first, count):
    if load_u32(header, t.STATISTICS_AT) != 0:
        for slot in range(first, first + count):
            store_8(slot_at(context, header, slot), r.KIND, 0)


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
def _apply_state(context, header, row):
    kept = slot_at(context, header, t.STATE)
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
        is_last = load_u16(row, r.CONDITION) & NOT_LAST == 0 and load_u8(row, r.SUB_TYPE) != LEG
        return t.LAST_TRADE if is_last else -1
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
def _supersede(daily, row):
    """The price of the day before: what was that of the day then is no longer."""
    if load_u16(daily, r.TRADE_DATE) <= load_u16(row, r.TRADE_DATE):
        store_8(daily, r.KIND, 0)


@kernel
def apply_statistic(context, header, row):
    """A row that is not of the book."""
    kind = load_u8(row, r.KIND)
    slot = t.STATE if kind == STATE else slot_of(row, kind)
    if slot < 0:
        if kind == BUST and load_u32(header, t.STATISTICS_AT) != 0:
            _bust(slot_at(context, header, t.LAST_TRADE), row)
        return t.DONE
    if reserve_statistics(context, header) != t.DONE:
        return t.NEEDS_MEMORY
    if kind == STATE:
        return _apply_state(context, header, row)
    kept = slot_at(context, header, slot)
    if load_u8(row, r.ACTION) == DELETE:
        store_8(kept, r.KIND, 0)
        return t.DONE
    copy_words(row, kept, r.ROW_SIZE // 8)
    if kind == TRADE:
        store_8(kept, r.KIND, LAST_TRADE)
    elif slot == t.PREVIOUS_CLOSING or slot == t.PREVIOUS_SETTLEMENT:
        _supersede(slot_at(context, header, slot - 1), row)
    return t.DONE
