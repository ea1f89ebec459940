"""Runs of neighbouring buckets, so that one read serves many of them."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from tierscope.domain.base.buckets import bucket_start

Span = tuple[datetime, datetime]
"""(start, end]: from the first bucket's start to the last one's end."""


def join_spans(buckets: Sequence[datetime], width_us: int) -> list[Span]:
    """Join ascending bucket starts to runs without holes."""
    width = timedelta(microseconds=width_us)
    spans: list[Span] = []
    for start in buckets:
        if spans and spans[-1][1] == start:
            spans[-1] = (spans[-1][0], start + width)
        else:
            spans.append((start, start + width))
    return spans


def coarser(buckets: Sequence[datetime], width_us: int) -> list[datetime]:
    """The starts of the wider buckets that hold these ones."""
    starts = set()
    for start in buckets:
        inside_us = int(start.timestamp()) * 1_000_000 + 1
        wide_us = bucket_start(inside_us, width_us)
        starts.add(start - timedelta(microseconds=inside_us - 1 - wide_us))
    return sorted(starts)
