"""News in parts (5.8)."""

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pregao.feeds.binary.news import (
    PART_OVERHEAD_BYTES,
    AssembledNews,
    NewsAssembler,
    NewsEnding,
    NewsFlag,
    NewsPart,
)

SECOND = 1_000_000_000
T0 = 1_700_000_000 * SECOND


def cut(text: str, cuts: list[int] | None = None, **common: object) -> list[NewsPart]:
    """The parts of a news, its bytes cut at these places."""
    data = text.encode()
    places = [0, *sorted(cuts or []), len(data)]
    pieces = [data[a:b] for a, b in pairwise(places)]
    head = {"news_id": 7, "source": "DCM", "headline": "Manchete", "total_text_length": len(data)} | common
    return [NewsPart(n, len(pieces), piece, **head) for n, piece in enumerate(pieces, 1)]  # type: ignore[arg-type]


def feed(assembler: NewsAssembler, parts: list[NewsPart], now_ns: int = T0) -> list[AssembledNews]:
    return [news for part in parts for news in assembler.receive(part, now_ns)]


# --- the law -----------------------------------------------------------------------------------

texts = st.text(alphabet=st.sampled_from("aé€😀\n"), max_size=12)


@st.composite
def bulletins(draw: st.DrawFn) -> list[tuple[str, list[NewsPart]]]:
    """Several news with and without newsID, cut anywhere, also inside characters."""
    result = []
    for i in range(draw(st.integers(1, 5))):
        text = draw(texts)
        cuts = draw(st.lists(st.integers(0, len(text.encode())), max_size=4))
        identity = {"news_id": i + 1} if draw(st.booleans()) else {"news_id": None, "orig_time_ns": T0 + i}
        result.append((text, cut(text, cuts, **identity)))
    return result


def identity(item: NewsPart | AssembledNews) -> tuple[int | None, int | None]:
    return item.news_id, item.orig_time_ns


@given(bulletins(), st.data())
def test_any_order_and_repetition_gives_each_news_once(
    news: list[tuple[str, list[NewsPart]]], data: st.DataObject
) -> None:
    parts = [part for _, parts in news for part in parts]
    sent = data.draw(st.permutations(parts + data.draw(st.lists(st.sampled_from(parts), max_size=10))))
    assembler = NewsAssembler()
    got = feed(assembler, sent)
    assert len(got) == len(news)
    assert {identity(n): n.text for n in got} == {identity(p[0]): text for text, p in news}
    assert all(n.complete and not n.missing and not n.flags for n in got)
    assert assembler.flush() == []
    assert assembler.counters.repeated == len(sent) - len(parts)
    assert assembler.held_bytes == assembler.open_news == 0


@given(bulletins(), st.data())
def test_dropped_parts_are_the_missing_ones(
    news: list[tuple[str, list[NewsPart]]], data: st.DataObject
) -> None:
    parts = [part for _, parts in news for part in parts]
    dropped = set(data.draw(st.lists(st.sampled_from(parts), unique=True)))
    sent = data.draw(st.permutations([part for part in parts if part not in dropped]))
    assembler = NewsAssembler()
    complete = feed(assembler, sent)
    incomplete = assembler.flush()
    assert all(n.complete for n in complete)
    assert not any(n.complete for n in incomplete)
    expected = {}
    for _, of_one in news:
        missing = tuple(p.part_number for p in of_one if p in dropped)
        if len(missing) < len(of_one):
            expected[identity(of_one[0])] = missing, b"".join(p.text for p in of_one if p not in dropped)
    assert {identity(n): (n.missing, n.raw) for n in complete + incomplete} == expected
    assert len(complete + incomplete) == len(expected)


hostile_parts = st.builds(
    NewsPart,
    part_number=st.integers(0, 6),
    part_count=st.integers(0, 6),
    text=st.binary(max_size=300),
    total_text_length=st.integers(0, 1),
    news_id=st.none() | st.integers(1, 6),
    orig_time_ns=st.none() | st.integers(1, 2),
    headline=st.none() | st.text(max_size=20),
)


@given(st.lists(st.tuples(hostile_parts, st.integers(-(2**40), 2**40)), max_size=60))
def test_bounds_hold_and_no_part_vanishes(steps: list[tuple[NewsPart, int]]) -> None:
    assembler = NewsAssembler(timeout_ns=SECOND, max_open=3, max_parts=5, max_bytes=2000)
    delivered: list[AssembledNews] = []
    now = T0
    for part, jump in steps:
        now += jump
        delivered += assembler.receive(part, now)
        delivered += assembler.on_timeout(now - jump // 2)
        assert assembler.open_news <= 3
        assert assembler.held_bytes <= 2000
        assert sum(len(f.hashes) for f in assembler._finished.values()) == assembler._finished_parts <= 5
        deadline = assembler.next_timeout()
        assert (deadline is None) == (assembler.open_news == 0)
    delivered += assembler.flush()
    counters = assembler.counters
    used = sum(1 if n.ending is NewsEnding.UNUSABLE else n.part_count - len(n.missing) for n in delivered)
    assert used + counters.repeated + counters.conflicting == counters.parts == len(steps)
    assert assembler.open_news == assembler.held_bytes == 0


# --- single cases ------------------------------------------------------------------------------


def test_a_single_part_passes_at_once() -> None:
    (part,) = cut("Ação", language="pt", security_id=5, orig_time_ns=3, url="http://x")
    (news,) = NewsAssembler().receive(part, T0)
    assert (news.text, news.complete, news.missing, news.flags) == ("Ação", True, (), NewsFlag.NONE)
    assert (news.news_id, news.source, news.language, news.security_id) == (7, "DCM", "pt", 5)
    assert (news.orig_time_ns, news.headline, news.url, news.ending) == (
        3,
        "Manchete",
        "http://x",
        NewsEnding.WHOLE,
    )


def test_a_single_part_does_not_evict() -> None:
    assembler = NewsAssembler(max_open=1, max_bytes=PART_OVERHEAD_BYTES + 20)
    long = cut("ab", [1], news_id=1)
    assert assembler.receive(long[0], T0) == []
    assert [n.text for n in feed(assembler, cut("z" * 400, news_id=2))] == ["z" * 400]
    assert [n.text for n in assembler.receive(long[1], T0)] == ["ab"]


def test_length_that_differs_is_flagged_but_complete() -> None:
    assembler = NewsAssembler()
    (news,) = feed(assembler, cut("abc", [1], total_text_length=4))
    assert news.complete
    assert news.flags == NewsFlag.LENGTH_DIFFERS
    assert assembler.counters.length_differs == 1
    (unsaid,) = feed(assembler, cut("abc", total_text_length=None))
    assert not unsaid.flags


def test_bad_utf8_is_shown_escaped_and_flagged() -> None:
    (news,) = NewsAssembler().receive(NewsPart(1, 1, b"a\xff", total_text_length=2), T0)
    assert (news.text, news.raw, news.flags) == ("a\\xff", b"a\xff", NewsFlag.BAD_UTF8)


def test_halves_of_characters_around_a_hole_do_not_make_a_third() -> None:
    parts = [NewsPart(1, 3, b"\xc3", news_id=1), NewsPart(3, 3, b"\xa7", news_id=1)]
    assembler = NewsAssembler()
    assert feed(assembler, parts) == []
    (news,) = assembler.flush()
    assert (news.text, news.missing, news.ending) == ("\\xc3\\xa7", (2,), NewsEnding.END_OF_INPUT)
    assert NewsFlag.BAD_UTF8 in news.flags
    assert assembler.counters.cut_off == 1


def test_differing_repetition_keeps_the_first() -> None:
    one, two = cut("abcd", [2])
    assembler = NewsAssembler()
    (news,) = feed(assembler, [one, replace(one, text=b"XX"), one, two])
    assert news.text == "abcd"
    assert news.flags == NewsFlag.CONFLICT
    assert (assembler.counters.conflicting, assembler.counters.repeated) == (1, 1)


@pytest.mark.parametrize(("number", "count"), [(0, 0), (1, 0), (0, 2), (3, 2), (1, 11), (-1, 1)])
def test_part_that_cannot_be_placed_is_delivered_alone(number: int, count: int) -> None:
    assembler = NewsAssembler(max_parts=10)
    (news,) = assembler.receive(NewsPart(number, count, b"x", news_id=1), T0)
    assert (news.text, news.complete, news.missing, news.ending) == ("x", False, (), NewsEnding.UNUSABLE)
    assert assembler.counters.unusable == 1
    assert assembler.open_news == 0


def test_another_part_count_is_another_text() -> None:
    first, second = cut("abcd", [2]), cut("abc", [1, 2])
    assembler = NewsAssembler()
    got = feed(assembler, [first[0], second[0], second[1], first[1], second[2]])
    assert [n.text for n in got] == ["abcd", "abc"]
    assert assembler.counters.split == 1


def test_headline_and_link_come_from_the_lowest_part_that_has_one() -> None:
    parts = cut("abc", [1, 2], headline=None)
    parts[1] = replace(parts[1], headline="second", url="u2")
    parts[2] = replace(parts[2], headline="third")
    (news,) = feed(NewsAssembler(), parts[::-1])
    assert (news.headline, news.url, news.flags) == ("second", "u2", NewsFlag.VARIES)


def test_time_out_delivers_incomplete_and_later_parts_start_over() -> None:
    parts = cut("abc", [1, 2])
    assembler = NewsAssembler(timeout_ns=SECOND)
    assert assembler.next_timeout() is None
    feed(assembler, [parts[0]])
    assert assembler.receive(parts[2], T0 + SECOND // 2) == []
    assert assembler.next_timeout() == T0 + SECOND
    assert assembler.on_timeout(T0 + SECOND - 1) == []
    (news,) = assembler.on_timeout(T0 + SECOND)
    assert (news.text, news.missing, news.ending) == ("ac", (2,), NewsEnding.TIMED_OUT)
    assert assembler.receive(parts[1], T0 + SECOND) == []
    assert assembler.next_timeout() == T0 + 2 * SECOND
    assert [n.missing for n in assembler.receive(cut("z", news_id=9)[0], T0 + 2 * SECOND)] == [(1, 3), ()]
    assert assembler.counters.timed_out == 2


def test_oldest_is_evicted_by_count_and_by_size() -> None:
    by_count = NewsAssembler(max_open=2)
    (news,) = feed(by_count, [cut("ab", [1], news_id=i)[0] for i in (1, 2, 3)])
    assert (news.news_id, news.missing, news.ending) == (1, (2,), NewsEnding.EVICTED)
    by_size = NewsAssembler(max_bytes=PART_OVERHEAD_BYTES + 499)
    big = cut("x" * 1000, [500], headline=None)
    (news,) = by_size.receive(big[0], T0)
    assert news.missing == (2,)
    assert by_size.held_bytes == 0
    assert by_size.counters.evicted == 1


def test_same_news_id_after_completion() -> None:
    parts = cut("abcd", [2])
    assembler = NewsAssembler(timeout_ns=SECOND)
    assert [n.text for n in feed(assembler, parts)] == ["abcd"]
    # Byte for byte the same within the time-out: repeated packets, whole or in part.
    assert feed(assembler, parts) == []
    assert assembler.counters.repeated == 2
    # With anything new it is a new news, and parts it has in common with the old one count.
    other = [replace(parts[0], text=b"XY"), parts[1]]
    assert [n.text for n in feed(assembler, [parts[1], parts[0], other[0]])] == []
    assert [n.text for n in feed(assembler, [other[0], parts[1]])] == ["XYcd"]
    assert [n.text for n in feed(assembler, [other[0], *parts])] == ["abcd"]  # makes room for the new
    # Later the same bytes are a new news.
    assert [n.text for n in feed(assembler, other, T0 + SECOND)] == ["XYcd"]


def test_a_late_repetition_is_not_an_incomplete_news() -> None:
    parts = cut("abcd", [2])
    assembler = NewsAssembler(timeout_ns=SECOND)
    assert len(feed(assembler, [*parts, parts[1]])) == 1
    assert assembler.on_timeout(T0 + 5 * SECOND) == []
    assert assembler.open_news == 0


def test_memory_of_finished_news_is_bounded() -> None:
    assembler = NewsAssembler(max_parts=3)
    first, second, third = (cut(t, [1], news_id=i) for i, t in enumerate(("ab", "cd", "ef"), 1))
    feed(assembler, [*first, *cut("AB", [1], news_id=1)])  # the later one under the same key counts
    assert assembler._finished_parts == sum(len(f.hashes) for f in assembler._finished.values()) == 2
    feed(assembler, [*second, *third])
    assert [key[0] for key in assembler._finished] == [(3, "DCM", None)]
    assert assembler._finished_parts == 2


def test_without_any_identity_a_second_equal_news_is_delivered() -> None:
    (part,) = cut("Call for instrument WDOF24", news_id=None, security_id=1)
    assert len(feed(NewsAssembler(), [part, part])) == 2


def test_without_news_id_security_and_time_tell_news_apart() -> None:
    first, second = (cut(t, [1], news_id=None, security_id=i) for i, t in enumerate(("ab", "cd")))
    got = feed(NewsAssembler(), [first[0], second[0], second[1], first[1]])
    assert [(n.security_id, n.text) for n in got] == [(1, "cd"), (0, "ab")]


@pytest.mark.parametrize("jump", [-3600 * SECOND, -SECOND // 2, 0])
def test_a_clock_set_back_neither_stalls_nor_hurries(jump: int) -> None:
    assembler = NewsAssembler(timeout_ns=SECOND)
    parts = cut("abc", [1, 2])
    feed(assembler, [parts[0]])
    assert assembler.receive(parts[1], T0 + jump) == []
    deadline = assembler.next_timeout()
    assert deadline is not None
    assert T0 + jump < deadline <= T0 + jump + 2 * SECOND
    assert assembler.on_timeout(deadline - 1) == []
    assert [n.missing for n in assembler.on_timeout(deadline)] == [(3,)]


def test_interleaved_clocks_of_two_captures_do_not_add_up() -> None:
    assembler = NewsAssembler(timeout_ns=10 * SECOND)
    parts = cut("a" * 40, list(range(1, 40)))
    got = [n for i, part in enumerate(parts) for n in assembler.receive(part, T0 + (i % 2) * 3 * SECOND)]
    assert [n.text for n in got] == ["a" * 40]


@pytest.mark.parametrize("name", ["timeout_ns", "max_open", "max_parts", "max_bytes"])
def test_bounds_must_be_positive(name: str) -> None:
    with pytest.raises(ValueError, match="positive"):
        NewsAssembler(**{name: 0})
