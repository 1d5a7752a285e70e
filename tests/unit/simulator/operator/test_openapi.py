"""What the operator interface says of itself: an OpenAPI document and a page."""

import asyncio
import json
from typing import Any

from aiohttp import web

from pregao.simulator.operator.api import make_app
from pregao.simulator.operator.calls import CALLS
from pregao.simulator.operator.openapi import document
from tests.kits.operator import Desk, Wire, make_loop, with_desk


def test_the_description_has_every_route() -> None:
    async def go() -> None:
        app = make_app(make_loop(Wire()))
        routes = {
            (route.method.lower(), route.resource.canonical)
            for route in app.router.routes()
            if isinstance(route.resource, web.Resource) and route.method != "HEAD"
        }
        paths = document()["paths"]
        described = {(method, path) for path, methods in paths.items() for method in methods}
        assert routes == described | {("get", "/"), ("get", "/openapi.json")}

    asyncio.run(go())


def test_every_reference_of_the_description_resolves() -> None:
    described = json.loads(json.dumps(document()))
    found = list(_references(described))
    assert len(found) > 100
    for reference in found:
        target = described
        for part in reference.removeprefix("#/").split("/"):
            target = target[part]
        assert target


def _references(value: Any) -> Any:
    if isinstance(value, dict):
        for key, inner in value.items():
            if key == "$ref":
                yield inner
            else:
                yield from _references(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _references(inner)


def test_the_description_is_complete() -> None:
    described = document()
    operations = [each for methods in described["paths"].values() for each in methods.values()]
    names = [each["operationId"] for each in operations]
    assert len(set(names)) == len(names)
    tags = {tag["name"] for tag in described["tags"]}
    for each in operations:
        assert each["summary"]
        assert tags.issuperset(each["tags"])
        assert "200" in each["responses"]
    for call in CALLS:
        schema = described["components"]["schemas"][call.command.__name__]
        assert "now_ns" not in schema["properties"]
        assert schema["additionalProperties"] is False


def test_the_page_and_the_description_are_served() -> None:
    async def use(desk: Desk) -> None:
        page = await (await desk.client.get("/")).text()
        assert all(call.path in page for call in CALLS)
        assert (await desk.get("/openapi.json"))[1] == json.loads(json.dumps(document()))

    with_desk(use, run=False)
