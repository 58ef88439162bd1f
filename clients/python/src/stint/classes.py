"""Classes in trees: assured tokens, and those that ancestors have to lend."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .asks import Ask, Key, Keyed, check_tokens
from .errors import InvalidError
from .keys import short_key
from .limits import Limit
from .wire import Argument, encode

MAX_ANCESTORS = 3


@dataclass(frozen=True)
class Class:
    """A class in a tree, such as a plan or a team. It gets its assured tokens, and borrows up to its ceiling.

    under are the 1 to 3 ancestors, made with on(), the parent first and the root last. All limits are token buckets.
    While Stint is down, local_share keeps to its share of the ceiling and of each ancestor, and assures nothing.
    """

    key: Key
    assured: Limit
    ceiling: Limit
    under: Sequence[Keyed]

    def __post_init__(self) -> None:
        """Refuse trees that the server refuses."""
        if not isinstance(self.under, Sequence) or not all(isinstance(node, Keyed) for node in self.under):
            raise InvalidError(f"under: must be a list of ancestors made with on(), got {self.under!r}")
        if not 1 <= len(self.under) <= MAX_ANCESTORS:
            raise InvalidError(f"a class has 1 to {MAX_ANCESTORS} ancestors, got {len(self.under)}")
        seen = {short_key(self.key)}
        for node in self.under:
            name = short_key(node.key)
            if name in seen:
                raise InvalidError(f"{node.key!r} is named twice between the class and the root")
            seen.add(name)
            if node.cost is not None or node.keep:
                raise InvalidError(f"an ancestor has no cost and no keep, got them for {node.key!r}")
        for limit in (self.assured, self.ceiling, *(node.limit for node in self.under)):
            if not isinstance(limit, Limit) or limit.algorithm.spec != "TB":
                raise InvalidError(f"the limits of a tree must be token buckets such as per_second(10), got {limit}")


def ask_class(operation: str, tree: Class, n: int, option: str = "") -> Ask:
    """Ask for n tokens of a class."""
    if not isinstance(tree, Class):
        raise InvalidError(f"a class must be Class(…), got {tree!r}")
    name = short_key(tree.key)
    words: list[Argument] = ["HT.ACQUIRE", name, *tree.assured.arguments, *tree.ceiling.arguments]
    limits = [(name, tree.ceiling, n)]
    for node in tree.under:
        words += ["UNDER", short_key(node.key), *node.limit.arguments]
        limits.append((short_key(node.key), node.limit, n))
    words += ["TOKENS", check_tokens(n)]
    if option:
        words.append(option)
    return Ask(encode(words), operation, name, n, limits, option)
