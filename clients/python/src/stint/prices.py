"""The cost of requests in micro-dollars, in which budgets count."""

from __future__ import annotations

import re
from collections.abc import Mapping

from .checks import is_whole
from .errors import InvalidError
from .rates import MAX_TOKENS

_DECIMALS = 9
_UNIT = 10**_DECIMALS


class Prices:
    """Prices in dollars for a million units, by model and kind of unit.

    Prices({"large": {"input": "2.50", "output": "10"}}): texts, decimals below a million with at most nine digits
    behind the point. That is also the price of one unit in micro-dollars.
    """

    def __init__(self, dollars_per_million: Mapping[str, Mapping[str, str]]) -> None:
        self._per_unit = {  # billionths of a micro-dollar
            model: {kind: _read(model, kind, text) for kind, text in kinds.items()}
            for model, kinds in dollars_per_million.items()
        }

    def cost(self, model: str, usage: Mapping[str, int]) -> int:
        """Return the cost of a request in micro-dollars.

        All its units at their prices are added up exactly and rounded up once. A model or kind without a price is an
        error, and so is a cost above a million dollars.
        """
        if model not in self._per_unit:
            raise InvalidError(f"model: there are no prices of {model!r}")
        prices, total = self._per_unit[model], 0
        for kind, n in usage.items():
            if kind not in prices or not is_whole(n, 0, 10**18):
                raise InvalidError(f"usage: {n!r} of {kind!r} of {model!r}: needs a price and an integer from 0 on")
            total += prices[kind] * n
        cost: int = -(-total // _UNIT)
        if cost > MAX_TOKENS:
            raise InvalidError(f"usage: it costs more than a million dollars, got {usage!r}")
        return cost


def _read(model: str, kind: str, text: str) -> int:
    if not isinstance(text, str) or not re.fullmatch(r"[0-9]{1,6}(\.[0-9]{1,9})?", text):
        raise InvalidError(f'prices: {model}, {kind}: must be dollars for a million units such as "2.50", got {text!r}')
    whole, _, behind = text.partition(".")
    return int(whole + behind.ljust(_DECIMALS, "0"))
