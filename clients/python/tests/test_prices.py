"""Costs by prices: the vectors of all clients."""

from __future__ import annotations

import json
from typing import Any

import pytest

import stint

from .test_vectors import FOLDER

VECTORS: dict[str, Any] = json.loads((FOLDER / "prices.json").read_text())


def test_prices() -> None:
    prices = stint.Prices(VECTORS["prices"])
    for request in VECTORS["costs"]:
        assert prices.cost(request["model"], request["usage"]) == request["cost"], request
    for request in VECTORS["refused"]:
        with pytest.raises(stint.InvalidError):
            prices.cost(request["model"], request["usage"])
    for price in VECTORS["refused_prices"]:
        with pytest.raises(stint.InvalidError):
            stint.Prices({"model": {"kind": price}})
