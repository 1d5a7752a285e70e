"""Run the simulated exchange with its servers of PUMA Conflated, and follow one over a FIX session: books
every 380 ms, trades at once. A session file names the servers; `Market.live` does the rest.
"""

import subprocess
import sys
from pathlib import Path

from pregao import Market, MarketTotal, SessionStarted, Trade, price_text

CONFIG, SESSION = Path("exchange.toml"), Path("session.toml")
CONFIG.write_text("[conflated]\nport = 0\n", encoding="utf-8")
command = [sys.executable, "-m", "pregao", "exchange", "--port", "0", "--flow", "500"]
exchange = subprocess.Popen([*command, "--config", str(CONFIG)], stderr=subprocess.PIPE, text=True)
try:
    for line in exchange.stderr:
        if "PUMA Conflated, primary" in line:
            port = line.split("127.0.0.1:")[1].split(",")[0]
        if "operator interface" in line:
            break
    SESSION.write_text(f"""system = "conflated"
sender = "CLIENT"
target = "B3"
primary = "127.0.0.1:{port}"
""")
    trades = totals = 0
    with Market.live(str(SESSION), symbols=["PETR4", "VALE3"]) as market:
        for event in market:
            trades += isinstance(event, Trade)
            totals += isinstance(event, MarketTotal)
            if isinstance(event, SessionStarted):
                print(event)
            if trades >= 3 and totals >= 4 and market.health().whole:
                book = market.book("PETR4")
                if book.bids and book.offers:
                    break
        levels = len(book.bids) + len(book.offers)
        print(book.symbol, book.kind, book.status.name, "with", levels, "price levels")
        print("best bid", price_text(book.top.bid.price), "below", price_text(book.top.offer.price))
        session = market.health().sessions[0]
        print("gaps", session.counters["gaps"], "losses", session.counters["losses"])
        print("compressed:", session.counters["received_bytes"] < session.counters["inflated_bytes"])
finally:
    exchange.kill()
    exchange.communicate()
