"""Runs of messages in sessions: what is sent, kept and sent again is as if each had gone by itself."""

from collections import OrderedDict
from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st

from pregao.codecs.fix import EncodedBody, Encoder, load_builtin_dictionary
from pregao.codecs.fix.runs import BodyRun
from pregao.sessions.fix import FixSession, MessageStore, SessionDirectory, SessionRecord, SessionSettings
from pregao.sessions.fix.store import StoredMessage

SECOND = 1_000_000_000
NOW = 1_794_916_800 * SECOND
DICTIONARY = load_builtin_dictionary()
ENCODER = Encoder(DICTIONARY)


def bodies(*sizes: int) -> list[EncodedBody]:
    return [ENCODER.body(b"UTOTP", {262: "x" * size}) for size in sizes]


class Pair:
    """An acceptor with a client that has logged on."""

    def __init__(self, next_out: int, max_unsent: int = 1 << 20) -> None:
        record = SessionRecord("B3", "CLIENT", store=MessageStore(50, 1 << 20, 100 * SECOND))
        directory = SessionDirectory()
        directory.add(record)
        self.server = FixSession.acceptor(SessionSettings(max_unsent=max_unsent), DICTIONARY, directory)
        self.server.connect(NOW)
        self._said = 0
        self.say(b"A", {98: 0, 108: 30})
        self.server.data_to_send()
        record.numbers.next_out = next_out

    def say(self, msg_type: bytes, fields: dict[int, object]) -> None:
        self._said += 1
        header = {34: self._said, 49: "CLIENT", 52: NOW, 56: "B3"}
        self.server.receive(ENCODER.message(msg_type, header, fields), NOW)


@given(
    st.lists(st.lists(st.integers(1, 60), max_size=8), max_size=6),
    st.sampled_from([2, 5, 95, 997, 123_456]),
    st.sampled_from([400, 1 << 20]),
    st.booleans(),
)
def test_a_run_is_as_if_each_went_by_itself(
    runs: list[list[int]], next_out: int, max_unsent: int, taken: bool
) -> None:
    together, alone = Pair(next_out, max_unsent), Pair(next_out, max_unsent)
    sent = [b"", b""]
    for place, sizes in enumerate(runs):
        run, now_ns = BodyRun(bodies(*sizes)), NOW + place * SECOND
        if together.server.core.is_live:
            together.server.send_run(run, now_ns)
        for body in run.bodies:
            if alone.server.core.is_live:
                alone.server.send_body(body, now_ns)
        assert together.server.core.out.unsent == alone.server.core.out.unsent
        if taken:
            sent = [
                text + pair.server.data_to_send() for text, pair in zip(sent, (together, alone), strict=True)
            ]
    for pair in (together, alone):
        if pair.server.core.is_live:
            pair.say(b"2", {7: next_out + 1, 16: 0})
    assert together.server.state is alone.server.state
    assert together.server.record.numbers == alone.server.record.numbers
    assert together.server.next_timeout() == alone.server.next_timeout()
    sent = [text + pair.server.data_to_send() for text, pair in zip(sent, (together, alone), strict=True)]
    assert sent[0] == sent[1]


class PlainStore:
    """The twin: messages one by one."""

    def __init__(self, max_count: int, max_bytes: int, max_age_ns: int) -> None:
        self.max_count, self.max_bytes, self.max_age_ns = max_count, max_bytes, max_age_ns
        self.messages: OrderedDict[int, StoredMessage] = OrderedDict()

    @property
    def size(self) -> int:
        return sum(each.body.size for each in self.messages.values())

    def add(self, number: int, message: StoredMessage) -> None:
        self.messages[number] = message
        while len(self.messages) > self.max_count or self.size > self.max_bytes:
            self.messages.popitem(last=False)

    def forget_before(self, now_ns: int) -> None:
        while self.messages and now_ns - next(iter(self.messages.values())).sent_ns > self.max_age_ns:
            self.messages.popitem(last=False)

    def between(self, begin: int, end: int) -> Iterator[tuple[int, StoredMessage]]:
        return ((number, each) for number, each in self.messages.items() if begin <= number <= end)


@given(
    st.lists(st.tuples(st.lists(st.integers(1, 40), max_size=6), st.integers(0, 3), st.integers(0, 60))),
    st.lists(st.tuples(st.integers(-2, 80), st.integers(-2, 10**12)), max_size=4),
)
def test_the_store_is_as_one_of_single_messages(
    added: list[tuple[list[int], int, int]], asked: list[tuple[int, int]]
) -> None:
    store, plain = MessageStore(7, 400, 100), PlainStore(7, 400, 100)
    number, now_ns = 1, 0
    for sizes, skipped, passed in added:
        number, now_ns = (
            number + skipped,
            now_ns + passed,
        )  # numbers of the session's own messages lie between
        run = BodyRun(bodies(*sizes))
        store.forget_before(now_ns)
        plain.forget_before(now_ns)
        if len(sizes) == 1:
            store.add(number, StoredMessage(run.bodies[0], now_ns, ((97, b"Y"),)))
            plain.add(number, StoredMessage(run.bodies[0], now_ns, ((97, b"Y"),)))
        elif sizes:
            store.add_run(number, run.bodies, run.size, now_ns)
            for place, body in enumerate(run.bodies):
                plain.add(number + place, StoredMessage(body, now_ns))
        number += len(sizes)
        assert (len(store), store.size) == (len(plain.messages), plain.size)
        for begin, end in [*asked, (0, 10**12)]:
            assert list(store.between(begin, end)) == list(plain.between(begin, end))
