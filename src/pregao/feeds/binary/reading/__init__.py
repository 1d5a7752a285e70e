"""Messages of Binary UMDF in, the model out, at two speeds.

plain        one decoded message -> `TranslatedMessage`: an update of `model.events`, and what the wire says
  told         what can be told; what becomes of values that are missing or unknown
  values       fields in the model's units; `words` has the model's word for each of the schema's
  orders, statistics, definitions, control: the messages by kind
rows         packets by the thousand -> rows of `model.rows`, through the kernel
  rules        which field goes where
  plan         rules and schema as the tables that the kernel reads, laid out as `tables` says
  kernels      packets and framing; `kernels.filling` a block to a row

The two share nothing but the names of the schema; a test holds them equal.
"""

from pregao.feeds.binary.reading.plain import PlainReader, news_of
from pregao.feeds.binary.reading.rows import RowReader
from pregao.feeds.binary.reading.values import (
    NotUnderstood,
    SequenceTold,
    SequenceWasReset,
    SnapshotBegin,
    SnapshotOrder,
    TranslatedMessage,
)

__all__ = [
    "NotUnderstood",
    "PlainReader",
    "RowReader",
    "SequenceTold",
    "SequenceWasReset",
    "SnapshotBegin",
    "SnapshotOrder",
    "TranslatedMessage",
    "news_of",
]
