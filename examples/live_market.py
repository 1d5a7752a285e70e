"""Run the simulated exchange on this machine, and follow it live: packets on loopback multicast, books here.

`Market.live("channels.toml")` follows real feeds in the same way. Arguments: a configuration of the exchange
and the channels it sends to; without them both use the addresses that `pregao exchange` has by itself.
"""

import subprocess
import sys

from pregao import Market, Quote, Trade, price_text

config, channels = sys.argv[1:] or (None, None)
command = [sys.executable, "-m", "pregao", "exchange", "--port", "0", "--flow", "500"]
exchange = subprocess.Popen([*command, *(["--config", config] if config else [])], stderr=subprocess.PIPE)
try:
    for line in exchange.stderr:  # it says so when it runs
        if b"operator interface" in line:
            break
    trades = quotes = 0
    with Market.live(channels, channels=[84]) as market:
        for event in market:
            trades += isinstance(event, Trade)
            quotes += isinstance(event, Quote)
            if trades >= 5 and quotes >= 50 and market.health().whole:
                book = market.book("PETR4")
                if book.bids and book.offers:
                    break
        print("every book is clean:", market.health().whole)
        print(book.symbol, book.status.name, "with", len(book.bids) + len(book.offers), "price levels")
        print("best bid", price_text(book.top.bid.price), "below", price_text(book.top.offer.price))
        print(trades, "trades and", quotes, "quotes so far")
finally:
    exchange.kill()
    exchange.communicate()
