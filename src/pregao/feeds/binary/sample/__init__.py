"""A small market of our own making, as the messages and packets of Binary UMDF.

A stand-in for the simulated exchange that comes later: messages are well-formed, books hold
together (never crossed, exact in the snapshots), numbers and times only rise, but no engine
matches and nobody decides anything. A seed makes the same day again, byte for byte.

    words        fields → bytes, for any wire version
    instruments  what is traded, and its definitions
    books        orders in priority
    market       instruments with their state; events that become messages
    trading      the traffic of the continuous session: orders, deletes, trades
    seldom       everything else that may happen in a session
    opening      the start of a day, up to the first trades
    snapshots    a loop of the snapshot stream
    streams      the three streams as packets
"""
