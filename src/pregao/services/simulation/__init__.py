"""Whole trading days on a virtual clock, as capture files with the exchange's own truth beside them.

    settings   what to simulate
    venue      catalogue, engine, desk and order flow together
    sources    the engine's books as the publisher asks for them
    line       one channel on its way out: publisher, sinks, and where every update went
    driver     the clock: flow, day script, auctions, loops and heartbeats, each in its turn
    pace       how a day is spread over the clock
    captures   packets into capture files
    faults     what is to go wrong, as a small language; `impaired` carries it out and lists it
    truth      events, books and statistics as Parquet; `tables` and `instruments` write them
    rarities   what surveillance does now and then, so that a day has everything
    run        all of it: `simulate`
    coverage   how often everything occurred; `sizes` of packets beside the real days'
"""

from pregao.services.simulation.run import Simulation, Summary, simulate
from pregao.services.simulation.settings import Settings

__all__ = ["Settings", "Simulation", "Summary", "simulate"]
