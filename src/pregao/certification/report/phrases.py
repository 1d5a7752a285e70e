"""Steps and demands of a scenario file in sentences, in two languages: what the form's columns say."""

from typing import Final

from pregao.certification import scenario as s
from pregao.model.market import Side

_DESK: Final = {
    "pt": {
        "buy": "compra {order}",
        "sell": "venda {order}",
        "cancel": "cancela {words}",
        "change": "altera {words} para {order}",
        "behalf": "Trade on Behalf {order}",
        "phase": "fase do pregão: {words}",
        "state": "estado do instrumento: {words}",
        "session": "sessão: {words}",
        "special": "leilão especial",
        "create": "cria UDS com duas pontas",
        "news": "notícia “{words}”",
        "hold": "retém os snapshots",
        "release": "libera os snapshots",
        "wait": "aguarda {words}",
        "history": "envia {words} mensagens",
        "mark": "",
        "empty": "esvazia o livro",
        "second": "",
    },
    "en": {
        "buy": "buy {order}",
        "sell": "sell {order}",
        "cancel": "cancel {words}",
        "change": "change {words} to {order}",
        "behalf": "trade on behalf {order}",
        "phase": "phase: {words}",
        "state": "state of the instrument: {words}",
        "session": "session: {words}",
        "special": "special auction",
        "create": "create a UDS of two legs",
        "news": "news “{words}”",
        "hold": "hold snapshots",
        "release": "release snapshots",
        "wait": "wait for {words}",
        "history": "send {words} messages",
        "mark": "",
        "empty": "empty the book",
        "second": "",
    },
}
_VALUES: Final = {
    "pre-open": "pré-abertura",
    "open": "aberto",
    "pause": "pausa",
    "paused": "pausado",
    "closed": "fechado",
    "reserved": "reservado",
    "pre-close": "pré-fechamento",
    "closing-call": "final closing call",
    "close": "fechamento",
    "regular": "regular",
    "after-market": "after market",
    "best offer": "a melhor venda",
    "heartbeat": "heartbeat",
    "definitions": "definições",
    "index": "novo valor do índice",
    "snapshots": "snapshots",
    "connect": "conecta",
    "disconnect": "desconecta",
    "join": "reconecta",
    "connect definitions": "conecta às definições",
    "connect indices": "conecta ao canal de índices",
    "logon": "faz logon",
    "request": "requisita",
}
_KINDS: Final = {
    "f": "Security Status (35=f)",
    "y": "Security List (35=y)",
    "B": "News (35=B)",
    "0": "Heartbeat (35=0)",
    "X": "Incremental Refresh (35=X)",
    "A": "Logon (35=A)",
    "BX": "Ack (35=BX)",
    "URDR": "Raw Data (35=URDR)",
    "BY": "Report (35=BY)",
}
_OTHER: Final = {
    "pt": {
        "desk": "Mesa: ",
        "client": "Cliente: ",
        "with": "Julgado com {}",
        "bid": "compra",
        "offer": "venda",
        "bids": "Compras",
        "offers": "Vendas",
        "new": "{side} {at}: nova {row}",
        "changed": "{side} {at}: passa a {row}",
        "gone": "{side} {at}: sai",
        "swept": "{side}: Delete From (279=4) até {at}",
        "top": "Topo de {side}: {row}",
        "left": "{side}: saem os {at} melhores",
        "no update": "Sem atualização",
        "prepared": "livro como preparado",
        "snapshot": "Snapshot Full Refresh (35=W)",
        "trades": "Negócios",
        "legs": "negócios em {} pontas",
        "empty": "nenhuma",
        "with tags": " com ",
        "orders": "ordens",
        "moa": "MOA",
        "moc": "MOC",
        "best": "melhor preço",
        "none": "sem preço",
    },
    "en": {
        "desk": "Desk: ",
        "client": "Client: ",
        "with": "Judged with {}",
        "bid": "bid",
        "offer": "offer",
        "bids": "Bids",
        "offers": "Offers",
        "new": "{side} {at}: new {row}",
        "changed": "{side} {at}: now {row}",
        "gone": "{side} {at}: gone",
        "swept": "{side}: Delete From (279=4) to {at}",
        "top": "Top {side}: {row}",
        "left": "{side}: the best {at} are gone",
        "no update": "No update",
        "prepared": "book as prepared",
        "snapshot": "Snapshot Full Refresh (35=W)",
        "trades": "Trades",
        "legs": "trades in {} legs",
        "empty": "none",
        "with tags": " with ",
        "orders": "orders",
        "moa": "MOA",
        "moc": "MOC",
        "best": "best price",
        "none": "no price",
    },
}


class Phrases:
    """`derives`: the system has no 279=4; a sweep is what it leaves."""

    def __init__(self, language: str, derives: bool = False) -> None:
        self._desk, self._other = _DESK[language], _OTHER[language]
        self._values, self._derives = _VALUES if language == "pt" else {}, derives

    # Who does what

    def step(self, step: s.Step) -> str:
        sentences = filter(None, (self._action(action) for action in step.actions))
        return ". ".join(sentences) + "."

    def _action(self, action: s.Action) -> str:
        if isinstance(action, s.DeskActs):
            return self._other["desk"] + ", ".join(filter(None, map(self._command, action.commands)))
        if isinstance(action, s.ClientActs):
            return self._other["client"] + self._value(action.words)
        return self._other["with"].format(action.step)

    def _command(self, command: s.DeskCommand) -> str:
        order = "" if command.order is None else self._row(command.order)
        if command.name is not None:
            order += f" ({command.name})"  # by which later steps call it
        words = command.words
        if command.verb in ("news", "cancel", "change"):
            phrase = " ".join(words)
            return self._desk[command.verb].format(words=self._values.get(phrase, phrase), order=order)
        return self._desk.get(command.verb, command.verb).format(words=self._value(words), order=order)

    def _value(self, words: tuple[str, ...]) -> str:
        phrase = " ".join(words)
        if phrase in self._values:
            return self._values[phrase]
        return " ".join(self._values.get(word, word) for word in words)

    # What is demanded

    def box(self, demands: tuple[s.Demand, ...]) -> str:
        phrase = "; ".join(filter(None, map(self._demand, demands)))
        return phrase[:1].upper() + phrase[1:]

    def _demand(self, demand: s.Demand) -> str:
        if isinstance(demand, s.EntryDemand):
            return self._entry(demand)
        if isinstance(demand, s.SideDemand):
            rows = ", ".join(map(self._row, demand.rows)) or self._other["empty"]
            return f"{self._other['bids' if demand.side is Side.BUY else 'offers']}: {rows}"
        if isinstance(demand, s.UnchangedDemand):
            return self._other["no update"]
        if isinstance(demand, s.PreparedDemand):
            return self._other["prepared"]
        if isinstance(demand, s.SnapshotDemand):
            return self._other["snapshot"] + self._tags(demand.tags)
        if isinstance(demand, s.TradesDemand):
            rows = ", ".join(map(self._row, demand.rows))
            return f"{self._other['trades']}: {rows}{self._tags(demand.tags)}"
        if isinstance(demand, s.LegTradesDemand):
            return self._other["legs"].format(demand.legs)
        return _KINDS.get(demand.kind, demand.kind) + self._tags(demand.tags)

    def _entry(self, demand: s.EntryDemand) -> str:
        side = self._other["bid" if demand.side is Side.BUY else "offer"]
        change = demand.change.value
        if demand.change is s.DemandedChange.SWEPT and self._derives:
            change = "left"
        row = "" if demand.row is None else self._row(demand.row)
        return self._other[change].format(side=side, at=demand.position, row=row)

    def _tags(self, tags: s.Tags) -> str:
        text = " ".join(f"{tag}={value}" for tag, value in tags)
        return f"{self._other['with tags']}{text}" if text else ""

    def _row(self, row: s.ScriptSize) -> str:
        price = str(row.price)
        orders = "" if row.orders is None or row.orders == 1 else f" ({row.orders} {self._other['orders']})"
        if row.price.kind.value in self._other:
            return f"{row.size} {self._other[row.price.kind.value]}{orders}"
        return f"{row.size}@{price}{orders}"
