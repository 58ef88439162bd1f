"""A client for the rate-limit server Stint, for threads and for asyncio.

    import stint

    limiter = stint.Limiter("redis://127.0.0.1:6379", stint.fail_open())
    if not limiter.allow("user:7", "100/minute"):
        ...  # too many requests

Every call returns within a deadline, 20 ms by default. While Stint does not answer, the policy that you chose decides.
"""

from .aio import AsyncLimiter
from .aioleases import AsyncLeases
from .aiostream import AsyncStream
from .asks import Keyed, Request, on
from .base import Decision
from .classes import Class
from .credits import Credit, Credits
from .errors import (
    CircuitOpenError,
    ClosedError,
    DeniedError,
    InvalidError,
    NotSentError,
    OverloadedError,
    RefusedError,
    ReplyTimeoutError,
    StintError,
    UnauthenticatedError,
    UnavailableError,
    UncertainError,
    UndecidedError,
    WouldExceedDeadlineError,
)
from .leases import Leases
from .limiter import Limiter
from .limits import (
    Limit,
    balance,
    concurrency,
    gcra,
    parse,
    penalty,
    per,
    per_day,
    per_hour,
    per_minute,
    per_second,
    sliding_log,
    sliding_window,
    window,
)
from .policy import Policy, fail_closed, fail_open, local_share
from .prices import Prices
from .reports import Member, Pace, ReportOptions
from .reserving import Reserved
from .results import NEVER, Charge, LimitState, MultiResult, Result, Source
from .slices import BudgetSpentError
from .stream import Stream
from .usage import ClosedWindow, Usage
from .waiting import Reservation

__all__ = [
    "NEVER",
    "AsyncLeases",
    "AsyncLimiter",
    "AsyncStream",
    "BudgetSpentError",
    "Charge",
    "CircuitOpenError",
    "Class",
    "ClosedError",
    "ClosedWindow",
    "Credit",
    "Credits",
    "Decision",
    "DeniedError",
    "InvalidError",
    "Keyed",
    "Leases",
    "Limit",
    "LimitState",
    "Limiter",
    "Member",
    "MultiResult",
    "NotSentError",
    "OverloadedError",
    "Pace",
    "Policy",
    "Prices",
    "RefusedError",
    "ReplyTimeoutError",
    "ReportOptions",
    "Request",
    "Reservation",
    "Reserved",
    "Result",
    "Source",
    "StintError",
    "Stream",
    "UnauthenticatedError",
    "UnavailableError",
    "UncertainError",
    "UndecidedError",
    "Usage",
    "WouldExceedDeadlineError",
    "balance",
    "concurrency",
    "fail_closed",
    "fail_open",
    "gcra",
    "local_share",
    "on",
    "parse",
    "penalty",
    "per",
    "per_day",
    "per_hour",
    "per_minute",
    "per_second",
    "sliding_log",
    "sliding_window",
    "window",
]
