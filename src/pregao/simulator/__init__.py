"""Whole trading days on a virtual clock, as capture files with the exchange's own truth beside them.

settings         what to simulate
venue            catalogue, engine, desk and order flow together; its books as publishers ask for them
routing          which channels an instrument is on, and what of an event goes to each
distribution     every event to the books and publishers of its channels: days and live alike
line             one channel on its way out: publisher, sinks, and where every update went
driver           the clock: flow, day script, auctions, loops and heartbeats, each in its turn
pace             how a day is spread over the clock: B3's hours, or the same day in a fraction of them
outputs          where it all goes: files, or `memory` for proofs
captures         packets into capture files: one a stream, or one of all
faults           what is to go wrong, as a small language; `fault_plan` draws it for a day, `impaired`
                 carries it out
truth            events, books and statistics as Parquet; `tables` are its columns
rare_operations  what surveillance does now and then, so that a day has everything
run              all of it: `simulate`
coverage         how often everything occurred; `sizes` of packets beside the real days'
"""

from pregao.simulator.run import Simulation, simulate
from pregao.simulator.settings import Settings
from pregao.simulator.summary import SimulationSummary

__all__ = ["Settings", "Simulation", "SimulationSummary", "simulate"]
