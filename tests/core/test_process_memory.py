"""Memory that a large request has left behind is looked for after some bytes of requests, not after each of them."""

import mmap

from tierscope.core.process_memory import KEPT_BYTES, LOOK_BYTES, FreedMemory


def test_small_requests_are_not_looked_at_one_by_one() -> None:
    freed = FreedMemory()
    # Memory of its own: what is allocated may be pages that a test before has left behind.
    held = mmap.mmap(-1, 4 * KEPT_BYTES)
    held.write(b"\x01" * (4 * KEPT_BYTES))
    assert not freed.has_grown(LOOK_BYTES // 2)
    assert freed.has_grown(LOOK_BYTES // 2), "together they are as many as a look is worth"
    assert not freed.has_grown(LOOK_BYTES - 1), "counted anew"
    assert freed.has_grown(1)
    freed.give_back()
    assert not freed.has_grown(LOOK_BYTES), "what is in use afterwards is what the process needs"
    held.close()
