"""The server of PUMA Conflated without I/O: FIX sessions that ask, and what they are answered.

filters      which instruments a request is for
lists        35=x -> 35=y (7.4)
market_data  35=V -> 35=W, 35=Y (7.5)
histories    35=UTHQ -> 35=UTHP (7.6), 35=UTOTQ -> 35=UTOTP, UTOTC (7.7)
connection   one connection of a client: its requests, and what of a bulletin is for it
server       one server, and who wants market totals
system       `SERVING`: the system as the exchange serves it

Sessions, bounds, compression and who is served when are `feeds.fix`. Sections in brackets are those of UMDF
PUMA Conflated, version 2.1.1.
"""
