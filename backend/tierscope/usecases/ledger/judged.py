"""Verdicts on parts of ledgers that were judged before: the same rows with the same facts have the same verdict.

Hours that are over do not change, and a page asks for the same week again and again.
"""

import hashlib

from tierscope.core.cache import Cache
from tierscope.domain.ledger import Ledger, judge
from tierscope.domain.ledger.words import Context, Verdict

MOST_KEPT = 20_000
"""About 1 kB each: parts of a week of thirty hosts with three services."""


def judge_again(part: Ledger, context: Context) -> Verdict:
    """The verdict of `judge`, from memory where these very rows were judged with this context."""
    if context.throughput is not None:
        return judge(part, context)
    key = (_digest(part), context)
    found = _verdicts.get(key)
    if found is None:
        found = judge(part, context)
        _verdicts.put(key, found)
    return found


def _digest(part: Ledger) -> bytes:
    made = hashlib.blake2b(digest_size=16)
    for column in (part.times_s, part.dt_seconds, part.values, part.present, part.cause):
        made.update(column.tobytes())
        made.update(repr((column.shape, column.dtype.str)).encode())
    return made.digest()


_verdicts: Cache[tuple[bytes, Context], Verdict] = Cache(MOST_KEPT)
