"""Times and steps as clients of Prometheus send them."""

import math
import re
from datetime import datetime

from tierscope.domain.promql.series import QueryError

LAST_MS = 253_402_300_799_000
"""The last second of the year 9999."""
_DURATION = re.compile(r"(?:(\d+)y)?(?:(\d+)w)?(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?(?:(\d+)ms)?")
_UNITS_MS = (31_536_000_000, 604_800_000, 86_400_000, 3_600_000, 60_000, 1000, 1)


def parse_time_ms(name: str, text: str) -> int:
    """Milliseconds since 1970 of Unix seconds or RFC 3339; `name` is what the parameter is called.

    Raises:
        QueryError: it is neither, or before 1970 or after the year 9999.
    """
    try:
        found_s = float(text)
    except ValueError:
        found_s = _from_text(name, text)
    if not math.isfinite(found_s) or not 0 <= found_s * 1e3 <= LAST_MS:
        raise QueryError(f'invalid parameter "{name}": cannot parse {text[:80]!r} to a valid timestamp')
    return round(found_s * 1e3)


def _from_text(name: str, text: str) -> float:
    try:
        # A plus sign of a zone arrives as a space where it was not percent-encoded.
        found = datetime.fromisoformat(text.replace(" ", "+"))
        return found.timestamp() if found.tzinfo is not None else math.nan
    except (ValueError, OverflowError) as error:
        message = f'invalid parameter "{name}": cannot parse {text[:80]!r} to a valid timestamp'
        raise QueryError(f"{message}: write Unix seconds or RFC 3339 with a zone") from error


def parse_duration_ms(name: str, text: str) -> int:
    """Milliseconds of seconds as a number, or of a duration such as `1m30s`; `name` is what the parameter is called.

    Raises:
        QueryError: it is neither.
    """
    matched = _DURATION.fullmatch(text) if text else None
    if matched is not None:
        return sum(int(part) * unit for part, unit in zip(matched.groups(), _UNITS_MS, strict=True) if part)
    try:
        found_s = float(text)
    except ValueError:
        found_s = math.nan
    if not math.isfinite(found_s) or abs(found_s * 1e3) > LAST_MS:
        raise QueryError(f'invalid parameter "{name}": cannot parse {text[:80]!r} to a valid duration')
    return round(found_s * 1e3)
