"""`from pregao import Market`, and what that must not cost those who do not."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import pregao


def test_importing_the_package_loads_nothing() -> None:
    code = "import sys, pregao; print([m for m in ('numpy', 'numba', 'pregao.market') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_the_face_is_there_when_asked_for() -> None:
    from pregao import BookStatus, Market, OrderAdded, PregaoError, Quote, Side, Trade, market

    assert (Market, Quote, Trade, OrderAdded) == (
        market.Market, market.Quote, market.Trade, market.OrderAdded
    )  # fmt: skip
    assert BookStatus.CLEAN > BookStatus.STALE
    assert Side.BUY.opposite is Side.SELL
    assert issubclass(market.UnknownInstrumentError, PregaoError)
    assert {"Market", "Trade", "Lake"} <= set(dir(pregao))


def test_every_name_is_where_it_is_said_to_be() -> None:
    for name in pregao._HOMES:
        assert getattr(pregao, name) is not None
    from pregao import Lake
    from pregao.lake import Lake as LakeOfTheLake

    assert Lake is LakeOfTheLake


def test_the_face_is_the_same_for_type_checkers() -> None:
    from pregao import market

    stub = (Path(pregao.__file__).parent / "__init__.pyi").read_text(encoding="utf-8")
    told = re.findall(r"^from ([\w.]+) import (\w+) as \2$", stub, re.MULTILINE)
    homes = {name: home for home, name in told}
    assert homes == pregao._HOMES
    of_market = {name for name, home in homes.items() if home == "pregao.market"}
    assert of_market == set(market.__all__)
    assert (Path(pregao.__file__).parent / "py.typed").exists()


def test_anything_else_is_not_there() -> None:
    with pytest.raises(AttributeError, match="nothing"):
        pregao.nothing  # noqa: B018


def test_a_market_needs_nothing_of_the_exchange() -> None:
    """Default addresses are of the model: whoever listens loads no matching engine."""
    code = (
        "import sys, pregao.market, pregao.captures.subscriptions as s; s.load_subscriptions(None)\n"
        "print([m for m in sys.modules if m.startswith(('pregao.exchange', 'pregao.simulator'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
