# The types of what `__getattr__` gives: its module is loaded when somebody asks.
from pregao.services.market import Change as Change
from pregao.services.market import Market as Market
from pregao.services.market import Quote as Quote
from pregao.services.market import price_of as price_of
from pregao.services.market import price_text as price_text

__version__: str
