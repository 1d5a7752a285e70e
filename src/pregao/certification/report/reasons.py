"""Why a box failed or is invalid, in the language of the form: the judges speak English."""

import re
from typing import Final

# In this order: sentences, then the words in them.
_SENTENCES: Final = (
    (r"(.+): none seen since it connected$", r"\1: nenhum visto desde que conectou"),
    (r"(.+): none seen in this step$", r"\1: nenhum visto neste passo"),
    (r"(.+): none seen$", r"\1: nenhum visto"),
    (r"(.+): none received from the client$", r"\1: nenhum recebido do cliente"),
    (r"(.+): refused$", r"\1: recusado"),
    (r"(.+): (.+) expected, not seen$", r"\1: esperado \2, não visto"),
    (r"(.+): (.+) expected, (.+) received from the client$", r"\1: esperado \2, recebido do cliente \3"),
    (r"(.+): (.+) expected, (.+) seen$", r"\1: esperado \2, visto \3"),
    (r"trade of a leg: sets no last price, but is said to$", "negócio de ponta: dito último preço, e não é"),
    (r"the client ended with status (\S+)", r"o cliente terminou com status \1"),
    (r"the client said nothing for (\S+ s)$", r"o cliente não disse nada por \1"),
    (r"the client said what is no object of JSON", "o cliente disse o que não é objeto JSON"),
    (r"the client said a line of more than (\d+) bytes$", r"o cliente disse uma linha de mais de \1 bytes"),
    (r"the client said more than (\d+) lines in a step$", r"o cliente disse mais de \1 linhas num passo"),
    (r"the client closed its input or output$", "o cliente fechou sua entrada ou saída"),
    (r"the client never was quiet$", "o cliente nunca se calou"),
    (r"judged by hand$", "julgado por uma pessoa"),
    # What the exchange itself missed.
    (r"^(\w+) entries (.+) sent, (.+) demanded$", r"\1: enviado \2, exigido \3"),
    (r"^trades (.+) sent, (.+) demanded$", r"negócios: enviado \1, exigido \2"),
    (r"^(\w+) (.+) after the step, (.+) demanded$", r"\1: \2 depois do passo, exigido \3"),
    (r"^(\w+) are not as demanded$", r"\1: não como exigido"),
    (r"^the book is not as prepared$", "o livro não está como preparado"),
    (r"^no message (.+)$", r"nenhuma mensagem \1"),
    (r"^(\d+) legs traded, not (\d+)$", r"negócios em \1 pontas, não \2"),
    (r"^a trade without (.+)$", r"um negócio sem \1"),
    (r"^a message f that is not demanded: (.+)$", r"uma mensagem f que não é exigida: \1"),
    (r"^the group's second instrument changed$", "o segundo instrumento do grupo mudou"),
    (r"^no snapshot$", "nenhum snapshot"),
    (r"^the snapshot lacks (.+)$", r"falta no snapshot \1"),
    (r"^the snapshot has other (\w+) than the book$", r"\1 do snapshot não são as do livro"),
    (r"^messages make other (\w+) than the exchange has$", r"\1 das mensagens não são as da bolsa"),
    (r"^(\w+) order (\S+): (\w+) cannot be carried out$", r"\1, ordem \2: \3 não pode ser feito"),
    (r"^the replayer sent no (.+)$", r"o replayer não enviou \1"),
    (r"^the replayer sent another message as (\S+)$", r"o replayer enviou outra mensagem como \1"),
    (r"^the replayer sent (.+) of (\S+) to (\S+)$", r"o replayer enviou \1 de \2 a \3"),
    (r"^no incremental refresh is in the range$", "nenhum incremental refresh na faixa"),
    (r"a client that reads no commands cannot be asked for a replay$", "cliente sem comandos: não há replay"),
)
_WORDS: Final = {
    "second instrument": "segundo instrumento", "bid": "compra", "offer": "venda", "no row": "nenhuma linha",
    "bids": "compras", "offers": "vendas",
    "price": "preço", "size": "quantidade", "orders": "ordens", "none": "nenhum", "book": "livro",
    "state": "estado", "phase": "fase", "own": "próprio", "session": "sessão", "event": "evento",
    "trades of legs": "negócios de pontas", "trades at": "negócios a", "trade": "negócio",
    "condition": "condição", "definition": "definição", "match": "match", "legs": "pontas", "news": "notícia",
    "index": "índice", "response": "resposta", "report": "relatório", "error": "erro", "numbers": "números",
    "complete": "completo", "true": "sim", "false": "não", "from": "de", "to": "a", "and": "e",
}  # fmt: skip
_ALL_WORDS: Final = re.compile(rf"\b({'|'.join(sorted(_WORDS, key=len, reverse=True))})\b")
_QUOTED: Final = re.compile(r"('.*?'|\".*?\")")  # what somebody wrote stays as it is


def reason_text(reason: str, language: str) -> str:
    """`B1.4 MBP compra 1: esperado preço nenhum, visto 0.00`; a sentence that is not known stays."""
    if language != "pt":
        return reason
    for pattern, replacement in _SENTENCES:
        sentence, count = re.subn(pattern, replacement, reason)
        if count:
            pieces = _QUOTED.split(sentence)
            pieces[::2] = [_ALL_WORDS.sub(lambda found: _WORDS[found[0]], each) for each in pieces[::2]]
            return "".join(pieces)
    return reason
