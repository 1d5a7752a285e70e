"""Order flow that looks like a market: commands for the engine, the same for the same seed.

    flow = Flow(catalogue, seed, engine.floor.orders, engine.trading_state)
    for now_ns, command in flow.commands(start_ns, end_ns, count):
        flow.answered(engine.submit(command))    # before the next command is asked for

It keeps no clock and reads no book: prices stand around values that walk on their own, shared by
everything that follows the same underlying, so that options and spreads move with it. Whoever sends
other commands in between tells their answers to `answered` too, so that the flow knows who is open.
"""

from pregao.exchange.flow.flow import Flow, FlowCommand
from pregao.exchange.flow.settings import FlowSettings

__all__ = ["Flow", "FlowCommand", "FlowSettings"]
