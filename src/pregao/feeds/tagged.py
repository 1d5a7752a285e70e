"""Messages of any system as FIX has them: a MsgType and fields by FIX's names. The certification script
speaks of 35=f with 326 and 1174; a system whose wire is not FIX says which of its messages that is.

Groups are lists under `MDEntries`, `RelatedSym` and `Legs`. In an entry `MDEntryType` is FIX's character,
`MDUpdateAction` its number, `TradeCondition` its letters with blanks between; prices are decimals. Whatever a
wire does not send is not there: nobody derives it here.
"""

from collections.abc import Hashable, Mapping
from typing import Any, NamedTuple, Protocol, runtime_checkable

from pregao.feeds.decoding import WireMessage


class TaggedMessage(NamedTuple):
    kind: str  # MsgType (35)
    fields: Mapping[str, Any]
    text: str  # `tag=value|`, or the system's own names where it has no tags


class MessageTagger(Protocol):
    """Of messages in the order of their flow: where the wire spreads a 35=W over several, it is given once it
    is whole."""

    def tagged(self, message: WireMessage, flow: Hashable) -> list[TaggedMessage]: ...


@runtime_checkable
class TaggingSystem(Protocol):
    def tagger(self) -> MessageTagger: ...
