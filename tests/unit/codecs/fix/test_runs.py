"""Runs of messages against the plain encoder: the same bytes, whatever sessions share."""

from hypothesis import given
from hypothesis import strategies as st

from pregao.codecs.fix import Encoder, load_builtin_dictionary
from pregao.codecs.fix.bodies import Body, JoinedBody
from pregao.codecs.fix.encoder import Fields
from pregao.codecs.fix.reader import TRADEMATE_DICTIONARY
from pregao.codecs.fix.runs import BodyRun, FramedRun

DICTIONARY = load_builtin_dictionary(TRADEMATE_DICTIONARY)
ENCODER = Encoder(DICTIONARY)
TIME = b"20261118-13:00:00.000"
TEXTS = st.text(st.characters(min_codepoint=32, max_codepoint=255), min_size=1, max_size=700)


def joined(texts: list[str]) -> Body:
    """35=X of entries that were encoded apart."""
    parts = [
        ENCODER.entries(b"X", 268, [{279: b"0", 269: b"2", 48: text.encode("latin-1")}]) for text in texts
    ]
    return JoinedBody(ENCODER.front(b"X", {75: b"20261118"}, 268, len(parts)), parts)


STATUSES = TEXTS.map(lambda text: ENCODER.body(b"f", {48: text.encode("latin-1")}))
BODIES: st.SearchStrategy[Body] = STATUSES | st.lists(TEXTS, min_size=1, max_size=3).map(joined)
NAMES = st.text("ABCabc0189", min_size=1, max_size=12)


def header(number: int, sender: str, target: str) -> Fields:
    return {34: number, 49: sender, 52: TIME, 56: target}


def rest(sender: str, target: str) -> bytes:
    return b"\x0149=%b\x0152=%b\x0156=%b\x01" % (sender.encode(), TIME, target.encode())


@given(
    st.lists(BODIES, min_size=1, max_size=6),
    st.lists(st.tuples(st.integers(1, 10**9), NAMES, NAMES), min_size=1, max_size=5),
)
def test_a_run_has_the_bytes_of_its_messages(
    bodies: list[Body], sessions: list[tuple[int, str, str]]
) -> None:
    run = BodyRun(bodies)  # one for all sessions
    for first, sender, target in sessions:
        last = first + len(bodies) - 1
        assert FramedRun.fits(run, first) == (len(str(first)) == len(str(last)))
        if not FramedRun.fits(run, first):
            continue
        messages = [
            ENCODER.frame(body, header(number, sender, target)) for number, body in enumerate(bodies, first)
        ]
        framed = FramedRun(run, first, DICTIONARY.begin_string, rest(sender, target))
        assert framed.join() == b"".join(messages)
        assert [part.join() for part in framed.parts()] == messages
        assert framed.size == sum(map(len, messages))
