"""The live exchange without sockets or a clock: what the loop of `live_exchange` drives.

settings    the TOML configuration, and the default addresses
market      engine, desk, order flow, script and publishers as one machine: commands in, packets out
schedule    the day of the market: opened at once, by the script, or by hand
orders      background order flow at a rate
state       what outlives a restart, as changes that add up
tracking    which of it has changed, command by command
keeping     the journal of these changes on the disk, written before anything is told
parts       events by channel
commands    what an operator can ask besides the engine's own commands: resets, instruments
instruments instruments added, changed and deleted while the exchange runs
"""
