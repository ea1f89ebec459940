"""What a process keeps: bounded by size, least recently used first out, good for a while."""

import pytest

from tierscope.core import generations
from tierscope.core.cache import Cache, StoredCache


def test_the_least_recently_used_leaves_first() -> None:
    cache: Cache[str, int] = Cache(2)
    cache.put("a", 1)
    cache.put("b", 2)
    assert cache.get("a") == 1
    cache.put("c", 3)
    assert (cache.get("a"), cache.get("b"), cache.get("c"), len(cache)) == (1, None, 3, 2)


def test_sizes_add_up_and_a_value_above_the_bound_is_not_kept() -> None:
    cache: Cache[str, bytes] = Cache(10, size_of=len)
    cache.put("a", b"1234")
    cache.put("b", b"1234")
    cache.put("a", b"12")
    cache.put("c", b"1234")
    assert [key for key, _ in cache.items()] == ["b", "a", "c"]
    cache.put("d", b"x" * 11)
    assert [key for key, _ in cache.items()] == ["b", "a", "c"]


def test_values_are_good_for_their_lifetime() -> None:
    now = 0.0
    cache: Cache[str, int] = Cache(2, lifetime_seconds=10.0, clock=lambda: now)
    cache.put("a", 1)
    now = 9.9
    assert cache.get("a") == 1
    now = 10.0
    assert cache.get("a") is None
    assert "a" not in cache


@pytest.mark.parametrize("how", ["drop", "clear"])
def test_what_is_dropped_is_gone(how: str) -> None:
    cache: Cache[str, int] = Cache(2)
    cache.put("a", 1)
    if how == "drop":
        cache.drop("a")
        cache.drop("never there")
    else:
        cache.clear()
    assert cache.get("a") is None
    cache.put("b", 2)
    cache.put("c", 3)
    assert len(cache) == 2


def test_what_was_read_of_a_database_does_not_outlive_its_generation() -> None:
    cache: StoredCache[str, int] = StoredCache(10)
    before = generations.seen("postgresql://cache", (1, "first"))
    cache.put("a", 1, generation=before)
    assert (cache.get("a"), "a" in cache, len(cache)) == (1, True, 1)
    assert generations.seen("postgresql://cache", (1, "first")) == before
    after = generations.seen("postgresql://cache", (1, "second"))
    assert (cache.get("a"), "a" in cache, len(cache), cache.items()) == (None, False, 0, [])
    cache.put("a", 1, generation=before)  # read before the change, finished after it
    assert cache.get("a") is None
    cache.put("a", 2, generation=after)
    assert cache.get("a") == 2
