"""Which sequence numbers are there: as runs, on each feed and on both."""

from collections.abc import Sequence

import numpy as np

from pregao.lake.plan.index import NUMBER_BITS, NUMBER_MASK, RUN, Array


def runs_of(keys: Array, sent_ns: Array) -> Array:
    """Runs of numbers that follow each other; packets may come late or twice."""
    if not len(keys):
        return np.zeros(0, RUN)
    if (np.diff(keys) < 0).any():
        order = np.argsort(keys, kind="stable")
        keys, sent_ns = keys[order], sent_ns[order]
    breaks = np.flatnonzero(np.diff(keys) > 1)
    firsts, lasts = np.r_[0, breaks + 1], np.r_[breaks, len(keys) - 1]
    runs = np.zeros(len(firsts), RUN)
    runs["first"], runs["last"] = keys[firsts], keys[lasts]
    runs["first_ns"], runs["last_ns"] = sent_ns[firsts], sent_ns[lasts]
    return runs


def union(parts: list[Array]) -> Array:
    """Runs of several files of one feed, or of several feeds: what any of them has."""
    runs = np.concatenate(parts) if parts else np.zeros(0, RUN)
    if len(runs) < 2:
        return runs
    runs = runs[np.argsort(runs["first"], kind="stable")]
    reach = np.maximum.accumulate(runs["last"])
    # The run that reaches furthest says when that packet was sent.
    furthest = np.maximum.accumulate(np.where(runs["last"] == reach, np.arange(len(runs)), 0))
    begins = np.r_[True, runs["first"][1:] > reach[:-1] + 1]
    starts = np.flatnonzero(begins)
    ends = np.r_[starts[1:] - 1, len(runs) - 1]
    found = np.zeros(len(starts), RUN)
    found["first"], found["first_ns"] = runs["first"][starts], runs["first_ns"][starts]
    found["last"], found["last_ns"] = reach[ends], runs["last_ns"][furthest[ends]]
    return found


def holes(runs: Array) -> Array:
    """What is missing between runs, of the same sequenceVersion: times are those of the neighbours."""
    before, after = runs[:-1], runs[1:]
    same = before["last"] >> NUMBER_BITS == after["first"] >> NUMBER_BITS
    found = np.zeros(int(same.sum()), RUN)
    found["first"], found["last"] = before["last"][same] + 1, after["first"][same] - 1
    found["first_ns"], found["last_ns"] = before["last_ns"][same], after["first_ns"][same]
    return found


def lost_beginnings(runs: Array, taken_over: Sequence[int] = ()) -> Array:
    """What is missing before the first packet of further sequences: each begins with 1, but for those that
    were taken over in their middle."""
    _, firsts = np.unique(runs["first"] >> NUMBER_BITS, return_index=True)
    found: Array = runs[firsts[1:]].copy()
    is_late = found["first"] & NUMBER_MASK > 1
    found = found[is_late & ~np.isin(found["first"] >> NUMBER_BITS, list(taken_over))]
    found["last"] = found["first"] - 1
    found["first"] = (found["first"] & ~NUMBER_MASK) + 1
    found["last_ns"] = found["first_ns"]
    return found


def difference(all_runs: Array, runs: Array) -> Array:
    """What is in `all_runs` and not in `runs`; times are those of the neighbours in `runs`."""
    found = []
    for whole in all_runs:
        first, last = int(whole["first"]), int(whole["last"])
        at = int(np.searchsorted(runs["last"], first))
        while first <= last:
            inside = at < len(runs) and int(runs["first"][at]) <= last
            stop = int(runs["first"][at]) - 1 if inside else last
            if stop >= first:
                before_ns = int(runs["last_ns"][at - 1]) if at else int(whole["first_ns"])
                after_ns = int(runs["first_ns"][at]) if at < len(runs) else int(whole["last_ns"])
                found.append((first, stop, before_ns, after_ns))
            first = int(runs["last"][at]) + 1 if inside else last + 1
            at += 1
    return np.array(found, RUN)
