"""The table of commands: everything an operator can do, and at which path. Fields, checks, documentation
and routes all come from it."""

import json
from typing import Any, Final, NamedTuple

from pregao.exchange import commands as c
from pregao.exchange import control
from pregao.simulator.live import bond_commands as bond
from pregao.simulator.live import resets as own
from pregao.simulator.live import servers
from pregao.simulator.operator.json_forms import command_json


class Call(NamedTuple):
    path: str
    command: type
    summary: str

    @property
    def tag(self) -> str:
        return self.path.split("/")[2]

    @property
    def operation(self) -> str:
        """A name for generated clients."""
        name = self.command.__name__
        return name[0].lower() + name[1:]


CALLS: Final = (
    Call("/v1/orders/new", c.NewOrder, "Enter an order"),
    Call("/v1/orders/change", c.ChangeOrder, "Change an order; its priority stays or goes as in 12.2.2"),
    Call("/v1/orders/cancel", c.CancelOrder, "Cancel an order"),
    Call("/v1/orders/mass-cancel", c.MassCancel, "Cancel all orders of a firm, as one event"),
    Call("/v1/orders/cancel-side", c.CancelSide, "Delete a whole side of a book"),
    Call("/v1/orders/rlp", c.RlpOrder, "Enter a hidden order of a retail liquidity provider"),
    Call("/v1/orders/cross", c.CrossOrder, "Enter both sides of a trade at once"),
    Call("/v1/orders/sweep-and-cross", c.SweepAndCross, "Sweep the book, then cross what is left"),
    Call("/v1/trades/block", c.BlockTrade, "A block trade: RFQ, Block Book or Midpoint"),
    Call("/v1/trades/at-close", c.TacTrade, "A trade at close (TAC)"),
    Call("/v1/trades/at-average", c.TaaTrade, "A trade at average (TAA)"),
    Call("/v1/trades/forward", c.ForwardTrade, "A termo, or a termo vista"),
    Call("/v1/trades/on-behalf", c.TradeOnBehalf, "A trade entered by the marketplace for two firms"),
    Call("/v1/trades/manual", c.ManualTrade, "A trade inserted out of sequence"),
    Call("/v1/trades/bust", c.BustTrade, "Cancel a trade"),
    Call("/v1/trades/amend", c.AmendTrade, "Correct a trade: busted and told again"),
    Call("/v1/phases/change", control.ChangePhase, "Change the phase of a group"),
    Call("/v1/phases/session", control.ChangeSession, "Change the session of a closed group"),
    Call("/v1/states/change", control.ChangeState, "Halt, close or forbid an instrument"),
    Call("/v1/states/rejoin", control.RejoinGroup, "Let an instrument follow its group again"),
    Call("/v1/auctions/start", control.StartAuction, "Put an open or paused instrument into auction"),
    Call("/v1/auctions/extend", control.ExtendAuction, "Prolong an auction"),
    Call("/v1/auctions/end", control.EndAuction, "End an auction now"),
    Call("/v1/bands/set", control.SetBand, "Set a price band"),
    Call("/v1/bands/reference", control.SetReference, "Set the reference price"),
    Call("/v1/bands/quantity", control.SetQuantityBand, "Set the quantity limits"),
    Call("/v1/bands/publish", control.PublishBands, "Tell all bands of an instrument again"),
    Call("/v1/figures/settlement", control.PublishSettlement, "Publish a settlement price"),
    Call("/v1/figures/open-interest", control.PublishOpenInterest, "Publish the open interest"),
    Call("/v1/figures/closing", control.PublishClosing, "Publish a closing price"),
    Call("/v1/news/send", control.SendNews, "Send a news"),
    Call("/v1/instruments/add", control.AddInstrument, "List an instrument like another, or a strategy"),
    Call("/v1/instruments/change", control.ChangeInstrument, "Change an instrument"),
    Call("/v1/instruments/delete", control.DeleteInstrument, "Delete an instrument"),
    Call("/v1/instruments/move", c.MoveInstrument, "Move an instrument to another matching engine"),
    Call("/v1/resets/stream", own.ResetStream, "Reset the incremental stream of a channel"),
    Call("/v1/resets/channel", own.ResetChannel, "Reset a channel"),
    Call("/v1/resets/book", own.ResetBook, "Empty and restate the book of one instrument"),
    Call("/v1/resets/failover", own.FailOver, "Let the secondary instance take over"),
    Call("/v1/resets/week", own.StartWeek, "Start over as on a Monday"),
    Call("/v1/servers/stop", servers.StopServer, "Stop a server: its sessions end, nobody is let in"),
    Call("/v1/servers/start", servers.StartServer, "Let a stopped server listen again"),
    Call("/v1/servers/cut", servers.CutSession, "End the session of a CompID"),
    Call("/v1/servers/history", servers.AllowHistory, "Whether trade history is answered"),
    Call("/v1/bonds/orders/new", bond.EnterBondOrder, "Enter an order for a bond"),
    Call("/v1/bonds/orders/change", bond.ChangeBondOrder, "Change an order for a bond"),
    Call("/v1/bonds/orders/cancel", bond.CancelBondOrder, "Cancel an order for a bond"),
    Call("/v1/bonds/quotes/request", bond.RequestBondQuote, "Ask some firms for quotes (RFQ)"),
    Call("/v1/bonds/quotes/answer", bond.AnswerBondQuote, "Quote a price to who asked for it"),
    Call("/v1/bonds/quotes/accept", bond.AcceptBondQuote, "Accept a quote: one trade (277=RFQ)"),
    Call("/v1/bonds/trades/voice", bond.RegisterVoiceTrade, "Register one side of a voice trade (277=VO)"),
    Call("/v1/bonds/trades/bust", bond.BustBondTrade, "Cancel a trade of a bond"),
    Call("/v1/bonds/states/change", bond.ChangeBondState, "Halt or open a bond, or the leg of a casada"),
    Call("/v1/bonds/bands/set", bond.SetBondBand, "Set a tunnel (269=g)"),
    Call("/v1/loops/snapshots", own.HoldSnapshots, "Hold the loop of snapshots of a channel, or release it"),
)

_PATHS: Final = {each.command: each.path for each in CALLS}


def request_text(command: Any) -> str:
    """A command as an operator would send it."""
    body = json.dumps(command_json(command), ensure_ascii=False)
    return f"POST {_PATHS[type(command)]} {body}"
