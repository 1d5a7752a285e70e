"""`from pregao import Market`, and what that must not cost those who do not."""

import subprocess
import sys

import pytest

import pregao


def test_importing_the_package_loads_nothing() -> None:
    code = "import sys, pregao; print([m for m in ('numpy', 'numba', 'pregao.services') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_the_face_is_there_when_asked_for() -> None:
    from pregao import Change, Market, Quote, price_of, price_text
    from pregao.services import market

    assert (Change, Market, Quote) == (market.Change, market.Market, market.Quote)
    assert (price_of, price_text) == (market.price_of, market.price_text)
    assert {"Market", "Change"} <= set(dir(pregao))


def test_anything_else_is_not_there() -> None:
    with pytest.raises(AttributeError, match="nothing"):
        pregao.nothing  # noqa: B018
