"""Time windows of requests: `from` and `to` as people write them."""

import re
from datetime import UTC, datetime, timedelta

from tierscope.core.errors import BadRequest
from tierscope.domain.base.figures import Window

DEFAULT_WINDOW = timedelta(hours=6)
MAX_WINDOW = timedelta(days=1100)
_RELATIVE = re.compile(r"^-(\d{1,6})(s|m|h|d|w)$")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def parse_window(from_: str | None, to: str | None, *, now: datetime, default: timedelta = DEFAULT_WINDOW) -> Window:
    """Return the window from `from` to `to`; without them the last `default` until now.

    Raises:
        BadRequest: neither RFC 3339 with zone nor relative such as `-6h`, or the window is empty or too long.
    """
    end = now if to is None else parse_instant(to, now=now)
    start = end - default if from_ is None else parse_instant(from_, now=now)
    if start >= end:
        raise BadRequest(f"the window is empty: from {start.isoformat()} to {end.isoformat()}")
    if end - start > MAX_WINDOW:
        raise BadRequest(f"the window is longer than {MAX_WINDOW.days} days")
    return Window(start, end)


def parse_instant(text: str, *, now: datetime) -> datetime:
    """Return an instant: RFC 3339 with a zone, `now`, or relative to now such as `-6h`.

    Raises:
        BadRequest: it is neither.
    """
    if text == "now":
        return now
    try:
        relative = _RELATIVE.match(text)
        if relative is not None:
            return now - timedelta(**{_UNITS[relative[2]]: int(relative[1])})
        # A plus sign of a zone arrives as a space where it was not percent-encoded.
        parsed = datetime.fromisoformat(text.replace(" ", "+") if "T" in text else text)
    except (ValueError, OverflowError) as error:
        raise BadRequest(f"{text!r} is no time: write RFC 3339 with a zone, or `-6h`") from error
    if parsed.tzinfo is None:
        raise BadRequest(f"{text!r} has no zone: append `Z` or an offset")
    return parsed.astimezone(UTC)
