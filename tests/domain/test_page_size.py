"""The page size of a host follows from what it sends, and is not known where nothing tells it."""

import pytest

from tierscope.domain.base.page_size import bytes_of, find_page_size, huge_pages_of
from tierscope.domain.ingest.prometheus.inventory import make_inventory
from tierscope.domain.ledger.machine import read_machine

GIB = 1 << 30
FREE, FREE_PAGES = "host|meminfo|MemFree", "host|vmstat|nr_free_pages"


def counters(page: int, *, drift: float = 1.0) -> dict[str, int]:
    return {FREE: 64 * GIB, FREE_PAGES: round(64 * GIB / page * drift)}


@pytest.mark.parametrize("page", [4096, 16384, 65536])
@pytest.mark.parametrize("drift", [0.9, 1.0, 1.1])
def test_free_memory_in_both_units_tells(page: int, drift: float) -> None:
    found = find_page_size(counters(page, drift=drift), release="6.6.0", architecture="aarch64")
    assert found is not None
    assert found.bytes == page
    assert "nr_free_pages" in found.evidence


def test_memory_of_a_node_over_its_managed_pages_tells() -> None:
    sizes = {
        "node:1|meminfo|MemTotal": 256 * GIB,
        "zone:1/Normal|zoneinfo|managed": 200 * GIB // 65536,
        "zone:1/Movable|zoneinfo|managed": 56 * GIB // 65536,
        "zone:10/Movable|zoneinfo|managed": 7,
    }
    found = find_page_size(sizes, release="", architecture="")
    assert found is not None
    assert found.bytes == 65536


@pytest.mark.parametrize(
    ("release", "architecture", "page"),
    [
        ("5.14.0-427.el9.aarch64+64k", "aarch64", 65536),
        ("6.8.0-31-generic-64k", "aarch64", 65536),
        ("6.4.0-150600.21-64kb", "aarch64", 65536),
        ("6.8.10-402.asahi.fc40.aarch64+16k", "aarch64", 16384),
        ("4.18.0-553.el8_10.aarch64", "aarch64", 65536),
        ("5.4.17-2136.el8uek.aarch64", "aarch64", None),
        ("5.14.0-427.el9.ppc64le", "ppc64le", 65536),
        ("5.14.0-427.el9.x86_64", "x86_64", 4096),
        ("6.1.0", "s390x", 4096),
        ("6.11.0", "riscv64", 4096),
        ("6.8.0-31-generic", "aarch64", None),
        ("5.14.0-427.el9.aarch64", "aarch64", None),
        ("6.1.0", "loongarch64", None),
        ("", "", None),
    ],
)
def test_names_tell_where_no_amount_does(release: str, architecture: str, page: int | None) -> None:
    found = find_page_size({}, release=release, architecture=architecture)
    assert (None if found is None else found.bytes) == page


def test_amounts_go_before_names_and_contradictions_tell_nothing() -> None:
    four = find_page_size(counters(4096), release="6.1-64k", architecture="aarch64")
    assert four is not None
    assert four.bytes == 4096
    both = counters(65536) | {"host|meminfo|AnonPages": GIB, "host|vmstat|nr_anon_pages": GIB // 4096}
    assert find_page_size(both, release="6.1-64k", architecture="aarch64") is None


def test_many_amounts_that_agree_go_before_the_architecture_and_one_does_not() -> None:
    one = find_page_size(counters(65536), release="6.1", architecture="x86_64")
    assert one is not None
    assert one.bytes == 4096, "a container's meminfo beside its host's vmstat"
    pairs = {"AnonPages": "nr_anon_pages", "Mapped": "nr_mapped"}
    more = {f"host|meminfo|{size}": GIB for size in pairs}
    more |= {f"host|vmstat|{pages}": GIB // 65536 for pages in pairs.values()}
    three = find_page_size(counters(65536) | more, release="6.1", architecture="x86_64")
    assert three is not None
    assert three.bytes == 65536


@pytest.mark.parametrize(
    "told",
    [
        {FREE: 10 * GIB, FREE_PAGES: 10 * GIB // 6000},
        {FREE: 4096 * 60, FREE_PAGES: 60},
        {FREE: 0, FREE_PAGES: 0},
        {FREE: 12 * GIB, FREE_PAGES: 1 << 40},
    ],
    ids=["between two sizes", "too few pages", "nothing", "less than a byte"],
)
def test_ratios_that_are_no_page_size_tell_nothing(told: dict[str, int]) -> None:
    assert find_page_size(told, release="6.8.0", architecture="aarch64") is None


def test_an_inventory_of_samples_says_its_page_size_or_none() -> None:
    uname = ({"__name__": "node_uname_info", "release": "6.8.0", "machine": "aarch64"}, 1.0)
    known = read_machine(make_inventory("h", counters(65536), [uname]))
    assert (known.page_bytes, known.huge_pages) == (65536, 8192)
    assert read_machine(make_inventory("h", {}, [uname])).page_bytes is None
    assert read_machine(None).page_bytes is None


def test_huge_pages_are_those_of_the_host() -> None:
    assert huge_pages_of(4096) == huge_pages_of(None) == 512
    assert huge_pages_of(65536) == 8192
    assert huge_pages_of(65536, 2 << 20) == 32
    assert huge_pages_of(4096, GIB) == 512


def test_pages_without_a_size_are_no_bytes() -> None:
    assert bytes_of(3, 65536) == 3 * 65536
    assert bytes_of(3, None) is None
    assert bytes_of(None, 4096) is None
