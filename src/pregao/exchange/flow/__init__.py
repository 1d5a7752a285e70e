"""Order flow that looks like a market: commands for the engine, the same for the same seed.

    flow = OrderFlow(catalogue, seed, engine.floor.orders, engine.trading_state)
    for now_ns, command in flow.commands(start_ns, end_ns, count):
        flow.answered(engine.submit(command))    # before the next command is asked for

It keeps no clock. Prices stand around values that move by the day, not by the order, and are shared by
everything that follows the same underlying, so that options and spreads move with it; the flow reads the
books to cancel what was left behind, and trades push its prices. Whoever sends
other commands in between tells their answers to `answered` too, so that the flow knows who is open.
"""

from pregao.exchange.flow.flow import FlowCommand, OrderFlow
from pregao.exchange.flow.settings import FlowSettings

__all__ = ["FlowCommand", "FlowSettings", "OrderFlow"]
