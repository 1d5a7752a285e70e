"""When each instrument was in auction: from the phases of its group and states of its own (14).

The rule is that of `books.phases`, as windows: an instrument follows its group until it is told a state
of its own (101), and again when it rejoins (102) or is told a null state; an auction of its own rests
while the group is halted or closed. What is told at one moment counts together: a group that opens and
an instrument of it whose auction goes on are not the end of that auction and the start of another.

An auction is extended when its end is told again and is later, or is told no more: the end of an auction that
closes at random, or that waits for its pair (15.1), has no time.
"""

from typing import Final

from pyspark.sql import Column, DataFrame, Window, WindowSpec
from pyspark.sql import functions as F  # noqa: N812

from tests.twins.analytics.places import INSTRUMENT, LINEAGE, PLACE, UNIT, all_doubts, last_lineage

SPAN: Final = (*INSTRUMENT, "span")
_OWN_AUCTIONS: Final = ("RESERVED", "PRE_OPEN", "FINAL_CLOSING_CALL")
_GROUP_AUCTIONS: Final = ("PRE_OPEN", "FINAL_CLOSING_CALL")
_HALTED: Final = ("PAUSE", "CLOSE", "FORBIDDEN")
# One number is two words: the state of an instrument, and the phase it says with a 102 (14.2).
_AS_PHASE: Final = {"RESERVED": "PRE_OPEN", "FORBIDDEN": "PRE_CLOSE"}


def auction_spans(states: DataFrame, instruments: DataFrame, interesting: DataFrame) -> DataFrame:
    """A row an auction: `span` numbers it within instrument and day, with ts_start, ts_end (null: it
    was not seen to end), extensions, kind, lineage, quality. Only of `interesting` instruments (the
    columns of INSTRUMENT): in a pre-open of the group most options have nothing to tell."""
    followed = _effective(_timeline(states, instruments, interesting))
    by_time = Window.partitionBy(*INSTRUMENT).orderBy(*PLACE, "is_own")
    next_ns = F.lead("ts_event").over(by_time)
    followed = followed.withColumn("is_last", ~next_ns.eqNullSafe(F.col("ts_event")))
    settled = _with_ends(followed, by_time).where(F.col("is_last"))
    before = F.coalesce(F.lag("in_auction").over(by_time), F.lit(False))
    starts = F.col("in_auction") & ~before
    numbered = settled.withColumn("span", F.sum(F.when(starts, 1).otherwise(0)).over(by_time))
    return _spans(_with_history(numbered.withColumn("starts", starts), by_time))


def _timeline(states: DataFrame, instruments: DataFrame, interesting: DataFrame) -> DataFrame:
    """States of each instrument, with the phases of its group among them."""
    told = (*LINEAGE, "quality", "state", "event", "session", "ts_ends")
    wanted = F.broadcast(interesting.select(*INSTRUMENT).distinct())
    groups = instruments.select(*INSTRUMENT, "security_group").distinct()
    members = groups.join(wanted, _same_instrument(groups, wanted), "left_semi")
    own = states.where(F.col("scope") == "INSTRUMENT")
    own = own.join(wanted, _same_instrument(own, wanted), "left_semi")
    phases = states.where(F.col("scope") == "GROUP").select(*UNIT, *told, "security_group")
    of_group = members.join(F.broadcast(phases), [*UNIT, "security_group"])
    return own.select(*INSTRUMENT, *told, F.lit(True).alias("is_own")).unionByName(
        of_group.select(*INSTRUMENT, *told, F.lit(False).alias("is_own"))
    )


def _same_instrument(left: DataFrame, right: DataFrame) -> Column:
    same = F.lit(True)
    for name in INSTRUMENT:
        same = same & left[name].eqNullSafe(right[name])
    return same


def _effective(timeline: DataFrame) -> DataFrame:
    """`in_auction` and `is_open` after each row."""
    so_far = Window.partitionBy(*INSTRUMENT).orderBy(*PLACE, "is_own")
    phase = F.last(F.when(~F.col("is_own"), F.col("state")), ignorenulls=True).over(so_far)
    rows = timeline.withColumn("phase", phase)
    own = F.last(F.when(F.col("is_own"), F.struct(_own_after().alias("state"))), ignorenulls=True)
    rows = rows.withColumn("own", own.over(so_far)["state"])
    halted = F.coalesce(F.col("phase").isin(*_HALTED), F.lit(False))
    of_group = F.col("own").isNull() & F.col("phase").isin(*_GROUP_AUCTIONS)
    of_its_own = F.col("own").isin(*_OWN_AUCTIONS) & ~halted
    return rows.withColumns(
        {
            "in_auction": F.coalesce(of_group, F.lit(False)) | F.coalesce(of_its_own, F.lit(False)),
            "is_open": F.coalesce(F.col("own"), F.col("phase")) == "OPEN",
            "is_closing": F.coalesce(F.col("own"), F.col("phase")) == "FINAL_CLOSING_CALL",
            "is_alone": F.col("own").isNotNull(),
        }
    )


def _own_after() -> Column:
    """The state of its own after a row of the instrument; null: it follows its group."""
    state, event, phase = F.col("state"), F.col("event"), F.col("phase")
    as_phase = state
    for word, other in _AS_PHASE.items():
        as_phase = F.when(state == word, other).otherwise(as_phase)
    follows = event.eqNullSafe("REJOINS_GROUP") | phase.isNull() | (as_phase == phase)
    return F.when(event.eqNullSafe("LEAVES_GROUP") | ~follows, state)


def _with_ends(rows: DataFrame, by_time: WindowSpec) -> DataFrame:
    """The end that was told last at each moment by what is in force then: the instrument itself, once it has
    left its group, or the group. `tells`: whether one was told, be it none: as 0 or null."""
    earlier = by_time.rowsBetween(Window.unboundedPreceding, -1)
    moment = F.coalesce(F.sum(F.col("is_last").cast("int")).over(earlier), F.lit(0))
    rows = rows.withColumn("moment", moment)
    at_once = Window.partitionBy(*INSTRUMENT, "moment").orderBy(*PLACE, "is_own")
    at_once = at_once.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    end = F.struct(F.nullif(F.col("ts_ends"), F.lit(0)).alias("ns"))
    own = F.last(F.when(F.col("is_own"), end), ignorenulls=True).over(at_once)
    of_group = F.last(F.when(~F.col("is_own"), end), ignorenulls=True).over(at_once)
    told = F.when(F.col("own").isNotNull(), own).otherwise(of_group)
    return rows.withColumns({"tells": F.col("in_auction") & told.isNotNull(), "ends": told["ns"]})


def _with_history(rows: DataFrame, by_time: WindowSpec) -> DataFrame:
    """Whether it was open before in this session, and whether a row prolongs its auction."""
    session = F.coalesce(F.last("session", ignorenulls=True).over(by_time), F.lit("REGULAR"))
    rows = rows.withColumn("in_session", session)
    earlier = Window.partitionBy(*INSTRUMENT, "in_session").orderBy(*PLACE, "is_own")
    earlier = earlier.rowsBetween(Window.unboundedPreceding, -1)
    in_span = Window.partitionBy(*SPAN).orderBy(*PLACE, "is_own")
    in_span = in_span.rowsBetween(Window.unboundedPreceding, -1)
    tells = F.col("tells")
    rows = rows.withColumn("ends", F.when(tells, F.col("ends")))
    had_end = F.last(F.when(tells, F.col("ends").isNotNull()), ignorenulls=True).over(in_span)
    is_later = F.col("ends") > F.max("ends").over(in_span)
    is_open_ended = tells & F.col("is_alone") & F.col("ends").isNull() & had_end
    return rows.withColumns(
        {
            "was_open": F.coalesce(F.max("is_open").over(earlier), F.lit(False)),
            "prolongs": F.coalesce(is_later, F.lit(False)) | F.coalesce(is_open_ended, F.lit(False)),
        }
    )


def _spans(rows: DataFrame) -> DataFrame:
    inside = F.col("in_auction")
    made = rows.where(F.col("span") > 0).groupBy(*SPAN).agg(
        F.min(F.when(inside, F.col("ts_event"))).alias("ts_start"),
        F.min(F.when(~inside, F.col("ts_event"))).alias("ts_end"),
        F.sum(F.when(F.col("prolongs"), 1).otherwise(0)).alias("extensions"),
        F.max(inside & F.col("is_closing")).alias("closing"),
        F.max(F.col("starts") & F.col("was_open")).alias("was_open"),
        F.max(F.col("starts") & F.col("is_alone")).alias("is_alone"),
        last_lineage(inside),
        all_doubts(),
    )  # fmt: skip
    kind = (
        F.when(F.col("closing"), "CLOSING")
        .when(~F.col("was_open"), "OPENING")
        .when(F.col("is_alone"), "INTRADAY")
        .otherwise("OTHER")
    )
    return made.withColumn("kind", kind).drop("closing", "was_open", "is_alone")
