"""Lists of instruments that are sent again are those that would be made anew (5.2.5)."""

from dataclasses import replace

from pregao.codecs.fast import FastMessageDecoder, load_builtin_templates
from pregao.feeds.fast.publisher.lists import LISTED, InstrumentLists
from pregao.feeds.fast.publisher.writing import MessageWriter
from pregao.model.events import Definition
from pregao.model.instruments import Instrument, Product, SecurityType
from pregao.model.market import DefinitionAction

NOW = 1_794_916_800_000_000_000
TEMPLATES = load_builtin_templates()
WRITER = MessageWriter(TEMPLATES)
ADD, MODIFY = DefinitionAction.ADD, DefinitionAction.MODIFY
SHARES = [
    Instrument(at, f"S{at}", 84, "01", "S", SecurityType.CS, Product.EQUITY)
    for at in range(1, 2 * LISTED + 2)
]


def _sent(lists: InstrumentLists, definitions: list[Definition]) -> list[bytes]:
    return [prepared.numbered(at, NOW) for at, (prepared, _) in enumerate(lists.messages(definitions), 1)]


def _fresh(definitions: list[Definition]) -> list[bytes]:
    return _sent(InstrumentLists(WRITER, 184, None), definitions)


def test_messages_sent_again_are_those_made_anew() -> None:
    lists = InstrumentLists(WRITER, 184, None)
    whole = [Definition(each, ADD) for each in SHARES]
    changed = [*whole[:3], Definition(replace(SHARES[3], description="another"), ADD), *whole[4:]]
    modified = [Definition(each.instrument, MODIFY) for each in whole]
    rounds = (whole, whole, changed, whole, modified, whole[:LISTED], whole[:-1], whole[LISTED:], whole)
    for definitions in rounds:
        assert _sent(lists, definitions) == _fresh(definitions)


def test_a_list_says_how_many_there_are_and_which_message_is_the_last() -> None:
    decoder = FastMessageDecoder(TEMPLATES)
    fields = [decoder.decode(each).fields for each in _fresh([Definition(each, ADD) for each in SHARES])]
    assert [each["TotNoRelatedSym"] for each in fields] == [len(SHARES)] * 3
    assert [each["LastFragment"] for each in fields] == ["N", "N", "Y"]
    assert [entry["SecurityID"] for each in fields for entry in each["RelatedSym"]] == [
        each.security_id for each in SHARES
    ]
