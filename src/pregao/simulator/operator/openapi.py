"""The tables of calls and views as an OpenAPI 3.1 document, and as a page for people."""

from html import escape
from typing import Any, Final

from pregao import __version__
from pregao.exchange.commands import RejectReason
from pregao.simulator.operator.calls import CALLS, Call
from pregao.simulator.operator.json_forms import REFERENCE, component_schemas
from pregao.simulator.operator.kinds import Schema
from pregao.simulator.operator.views import VIEWS, View

_DESCRIPTION: Final = (
    "What the person at the certification desk does: orders, phases and states, auctions, trades, news, "
    "instruments and resets of a simulated B3. Bodies are JSON of at most 64 KiB. Unknown keys, wrong types "
    "and values out of range are answered with 400; what the exchange refuses with 409 and its reason."
)
# What is the matter, by status; each answers with an Error.
FAULTS: Final = {
    "400": ("BadRequest", "The request is not as described: `reason` names what is wrong"),
    "403": ("Forbidden", "The Host or Origin header is not of this machine"),
    "408": ("TooSlow", "The body does not come"),
    "409": ("Rejected", "The exchange refuses: `reason` and `code` are the rejection's; nothing has changed"),
    "413": ("TooLarge", "The body is longer than 64 KiB"),
    "415": ("NotJson", "The body is not application/json"),
    "503": ("Busy", "Too many commands wait already"),
}
_READ_FAULTS: Final = ("400", "403", "409")


def document() -> dict[str, Any]:
    """The whole document; all its references are to itself."""
    paths: dict[str, Any] = {}
    for call in CALLS:
        paths.setdefault(call.path, {})["post"] = _post(call)
    for view in VIEWS:
        paths.setdefault(view.path, {})["get"] = _get(view)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Pregão exchange: operator interface", "version": __version__}
        | {"description": _DESCRIPTION, "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"}},
        "servers": [{"url": "/"}],
        "tags": [{"name": tag} for tag in dict.fromkeys(_tags())],
        "paths": paths,
        "components": {
            "schemas": _answers() | component_schemas(tuple(call.command for call in CALLS)),
            "responses": {
                name: {"description": text, "content": _json("Error")} for name, text in FAULTS.values()
            },
        },
    }


def _tags() -> list[str]:
    return [call.tag for call in CALLS] + [view.path.split("/")[2] for view in VIEWS]


def _post(call: Call) -> Schema:
    return {
        "operationId": call.operation,
        "summary": call.summary,
        "tags": [call.tag],
        "requestBody": {"required": True, "content": _json(call.command.__name__)},
        "responses": {"200": {"description": "Done, and published", "content": _json("Outcome")}}
        | {status: _fault(status) for status in FAULTS},
    }


def _get(view: View) -> Schema:
    last = view.path.split("/")[2]
    found: Schema = {
        "operationId": f"show{last.title()}" + ("Of" if view.parameter else ""),
        "summary": view.summary,
        "tags": [last],
        "responses": {
            "200": {
                "description": "As it is now",
                "content": {"application/json": {"schema": {"type": "object"}}},
            }
        }
        | {status: _fault(status) for status in _READ_FAULTS},
    }
    if view.parameter is not None:
        found["parameters"] = [
            {"name": view.parameter, "in": "path", "required": True, "schema": {"type": "string"}}
        ]
    return found


def _fault(status: str) -> Schema:
    return {"$ref": f"#/components/responses/{FAULTS[status][0]}"}


def _json(name: str) -> Schema:
    return {"application/json": {"schema": {"$ref": REFERENCE + name}}}


def _answers() -> dict[str, Schema]:
    update = {
        "type": "object",
        "description": "An update of the model: `kind` is its name, the rest its own fields",
        "required": ["kind"],
        "properties": {"kind": {"type": "string"}},
    }
    return {
        "Update": update,
        "Outcome": {
            "type": "object",
            "required": ["order_ids", "event_count", "events"],
            "properties": {
                "order_ids": {"type": "array", "items": {"type": "integer"}},
                "event_count": {"type": "integer"},
                "events": {
                    "type": "array",
                    "description": "The first 200 events, each the list of its updates",
                    "items": {"type": "array", "items": {"$ref": REFERENCE + "Update"}},
                },
            },
        },
        "Reason": {"type": "string", "enum": [reason.name for reason in RejectReason]},
        "Error": {
            "type": "object",
            "required": ["reason", "text"],
            "properties": {
                "reason": {"description": "A name; of a rejection one of Reason", "type": "string"},
                "code": {"description": "Of a rejection, where B3 prints one", "type": ["integer", "null"]},
                "text": {"type": "string"},
                "where": {"description": "The key at fault", "type": "string"},
            },
        },
    }


def page() -> str:
    """A list of all calls."""
    rows = [("GET", view.path, view.summary) for view in VIEWS]
    rows += [("POST", call.path, call.summary) for call in CALLS]
    lines = "\n".join(
        f"<tr><td>{method}<td><code>{escape(path)}</code><td>{escape(summary)}"
        for method, path, summary in rows
    )
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>Pregão exchange</title>'
        "<h1>Pregão exchange: operator interface</h1>"
        '<p>Described in <a href="/openapi.json">openapi.json</a>. Prices are decimals, instruments are '
        "securityIDs or symbols, times are nanoseconds since 1970 or as +30s.</p>"
        '<pre>curl -H "Content-Type: application/json" -d \'{"security_id": "PETR4", "side": "BUY", '
        '"quantity": 100, "price": "36.00"}\' …/v1/orders/new</pre>'
        f"<table>\n{lines}\n</table></html>\n"
    )
