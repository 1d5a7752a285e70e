"""The words of the form, in Portuguese and English. Passou and N/E are printed in B3's; Falhou is ours."""

from typing import Final

from pregao.certification.results import Verdict
from pregao.certification.scenario import Need, ScriptSegment

_PT: Final = {
    "title": "Roteiro de Certificação UMDF",
    "subtitle": "Executado offline pelo Pregão",
    "step": "Passo",
    "description": "Descrição",
    "expected": "Resultado esperado",
    "need": "Req",
    "status": "Status",
    "evidence": "Evidência",
    "commands": "Comandos da mesa",
    "messages": "Mensagens",
    "lines": "O cliente disse",
    "sessions": "Sessões dos replayers",
    "before": "Antes",
    "after": "Depois",
    "bids": "Compra",
    "offers": "Venda",
    "summary": "Resumo",
    "boxes": "caixas",
    "system": "Sistema",
    "client": "Cliente",
    "date": "Data",
    "unbroken": "Execução",
    "whole": "sem interrupção",
    "partial": "parcial ou interrompida",
    "available": "Disponível",
    "files": "Arquivos (sha256)",
    "note": "Nota",
    "reasons": "Divergências",
    "more": "e mais",
    "empty": "vazio",
    "none": "sem preço",
    "legend": "P é o preço de fechamento e P+1 um tick acima. S e Y: obrigatório; C: condicional; "
    "N: opcional. N/E: não executado. Inválido: a própria bolsa simulada não cumpriu o que o roteiro exige.",
    "approved": "APROVADO",
    "refused": "REPROVADO",
    "broken": "INVÁLIDO",
    "page": "Página",
    "appendix": "Evidências por passo",
    "of": "de",
}
_EN: Final = {
    "title": "UMDF certification script",
    "subtitle": "Played offline by Pregão",
    "step": "Step",
    "description": "Description",
    "expected": "Expected result",
    "need": "Req",
    "status": "Status",
    "evidence": "Evidence",
    "commands": "Commands of the desk",
    "messages": "Messages",
    "lines": "The client said",
    "sessions": "Sessions of replayers",
    "before": "Before",
    "after": "After",
    "bids": "Bids",
    "offers": "Offers",
    "summary": "Summary",
    "boxes": "boxes",
    "system": "System",
    "client": "Client",
    "date": "Date",
    "unbroken": "Run",
    "whole": "unbroken",
    "partial": "partial or interrupted",
    "available": "Available",
    "files": "Files (sha256)",
    "note": "Note",
    "reasons": "Differences",
    "more": "and more,",
    "empty": "empty",
    "none": "no price",
    "legend": "P is the closing price, P+1 a tick above it. S and Y: required; C: conditional; N: optional. "
    "N/E: not executed. Invalid: the simulated exchange itself did not do what the script demands.",
    "approved": "PASSED",
    "refused": "FAILED",
    "broken": "INVALID",
    "page": "Page",
    "appendix": "Evidence of each step",
    "of": "of",
}
WORDS: Final = {"pt": _PT, "en": _EN}
LANGUAGES: Final = tuple(WORDS)
VERDICTS: Final = {
    "pt": {
        Verdict.PASSED: "Passou",
        Verdict.FAILED: "Falhou",
        Verdict.INVALID: "Inválido",
        Verdict.NOT_RUN: "N/E",
    },
    "en": {
        Verdict.PASSED: "Passed",
        Verdict.FAILED: "Failed",
        Verdict.INVALID: "Invalid",
        Verdict.NOT_RUN: "N/E",
    },
}
SEGMENTS: Final = {
    "pt": {ScriptSegment.EQUITIES: "Ações", ScriptSegment.DERIVATIVES: "Derivativos"},
    "en": {ScriptSegment.EQUITIES: "Equities", ScriptSegment.DERIVATIVES: "Derivatives"},
}
# Boxes of the form, in its order; a box that is invalid gets a word of its own.
PRINTED: Final = (Verdict.PASSED, Verdict.NOT_RUN, Verdict.FAILED)


def need_letter(step: str, need: Need) -> str:
    """As the form has it: section A says Y where the others say S."""
    if need is Need.REQUIRED:
        return "Y" if step.startswith("A.") else "S"
    return "C" if need is Need.CONDITIONAL else "N"
