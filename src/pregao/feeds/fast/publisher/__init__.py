"""Model events out as datagrams of UMDF FIX/FAST: three streams of a channel, without I/O or a clock.

datagrams    encoded messages -> numbered chunks in datagrams of one stream, with heartbeats
levels       orders -> price levels, and what a book of so many levels has to be told (MBP, TOB)
entries      one update of the model -> one entry of 35=X or 35=W
desks        the same of clearing, lending and indices
listings     instruments (35=y), phases and states (35=f), news (35=B)
incremental  events -> messages: RptSeq, running volumes, what an event is
loops        the definition and the snapshot stream
channel      all of it, and what is sent when sequence, channel or book start over: `FastPublisher`
"""
