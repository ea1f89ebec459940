"""When a notification that failed is tried again, and when it is given up."""

from dataclasses import dataclass
from datetime import datetime, timedelta

FIRST_SECONDS = 5.0
LONGEST_SECONDS = 900.0
GIVE_UP_AFTER = timedelta(hours=24)
REFUSED_ATTEMPTS = 5
"""A receiver that answers that the request itself is wrong (4xx) is asked so often: it may be being repaired."""
_RETRIED_4XX = frozenset({408, 425, 429})


@dataclass(frozen=True, slots=True)
class Failure:
    """Why an attempt failed. `status_code` of the answer, where there was one."""

    said: str
    status_code: int | None = None
    retry_after_seconds: int | None = None

    @property
    def is_refusal(self) -> bool:
        """Whether the same request will most likely be refused again."""
        code = self.status_code
        return code is not None and 400 <= code < 500 and code not in _RETRIED_4XX  # noqa: PLR2004 - HTTP's classes


def retry_at(failure: Failure, *, attempts: int, created_at: datetime, now: datetime) -> datetime | None:
    """When to try again after `attempts` tries; None = never.

    5 s, then twice as long each time up to 15 min, for 24 h; a server's Retry-After is heeded up to an hour.
    """
    if now - created_at >= GIVE_UP_AFTER or (failure.is_refusal and attempts >= REFUSED_ATTEMPTS):
        return None
    seconds = min(FIRST_SECONDS * 2.0 ** min(attempts - 1, 30), LONGEST_SECONDS)
    asked = min(failure.retry_after_seconds or 0, 3600)
    return now + timedelta(seconds=max(seconds, asked))
