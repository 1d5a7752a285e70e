"""What one may be told while packets are handled. Subclass and override what is of interest."""

from pregao.model.events import News
from pregao.model.instruments import Instrument
from pregao.model.market import DefinitionAction
from pregao.model.rows import Rows


class Observer:
    """Called in the order of the stream; rows are only valid during the call."""

    def on_rows(self, rows: Rows) -> None:
        """Rows of the incremental stream after they were taken to the books: of whole events, unless the
        handler was told not to wait for their ends."""

    def on_definition(self, instrument: Instrument, action: DefinitionAction) -> None: ...

    def on_news(self, news: News) -> None: ...
