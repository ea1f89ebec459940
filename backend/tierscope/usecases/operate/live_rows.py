"""Chunks of live rows that cannot go yet, in words."""

from tierscope.storage.base.live_rows import WaitingChunk


def describe_waiting(chunk: WaitingChunk) -> str:
    """Which chunk waits, for how much work of which kind, and a host that it is about."""
    until = f"{chunk.end:%H:%M}" if chunk.end.date() == chunk.start.date() else f"{chunk.end:%Y-%m-%d %H:%M}"
    subjects = "" if chunk.subjects == 1 else f" of {chunk.subjects} subjects"
    host = "" if chunk.host is None else f", host {chunk.host}{' for one' if chunk.subjects > 1 else ''}"
    return (
        f"{chunk.table} {chunk.start:%Y-%m-%d %H:%M} to {until} waits for {chunk.marks} buckets of"
        f" {chunk.kind}{subjects}{host}"
    )
