"""Why a box failed, in the language of the form: the comparator speaks English."""

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
    (r"a client that reads no commands cannot be asked for a replay$", "cliente sem comandos: não há replay"),
)
_WORDS: Final = {
    "second instrument": "segundo instrumento", "bid": "compra", "offer": "venda", "no row": "nenhuma linha",
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
