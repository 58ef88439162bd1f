"""Checks of arguments, also those of programs without types: None where a number belongs is an InvalidError, too."""

from __future__ import annotations

from fractions import Fraction


def is_whole(value: object, least: int, most: int) -> bool:
    """Return whether a value is an integer from least to most. True and False are none."""
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def is_number(value: object) -> bool:
    """Return whether a value is a number that is above, below or equal to others. True, False and nan are none."""
    return isinstance(value, (int, float, Fraction)) and not isinstance(value, bool) and value == value
