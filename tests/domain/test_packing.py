"""Packs give back exactly what went in, whatever the values."""

import dataclasses
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from factories.heat_rows import METHOD as DRAWN
from factories.heat_rows import STRATA, draw_rows
from tierscope.domain.counters.packing import Block, empty_block, pack_block, unpack_block
from tierscope.domain.heat.classes import BUCKETS, COUNTS, WINDOWS
from tierscope.domain.heat.packs import (
    columns_of_row,
    compiled_fold,
    fold_packs,
    pack_rows,
    read_columns,
    unpack_last,
    unpack_rows,
)
from tierscope.domain.heat.rows import HeatRow, HeatSeries, Method, fold_rows

METHOD = Method(9, 1, 60_000_000_000)
ANY_INT = st.integers(-(2**63), 2**63 - 1)


def ints(*shape: int) -> st.SearchStrategy[np.ndarray]:
    return npst.arrays(np.int64, shape, elements=ANY_INT)


@st.composite
def blocks(draw: st.DrawFn) -> Block:
    n, k = draw(st.integers(0, 30)), draw(st.integers(1, 4))
    present = draw(npst.arrays(bool, (n, k)))
    values = np.where(present, draw(ints(n, k)), 0)
    keys = tuple(f"host|vmstat|k{i}" for i in range(k))
    return Block(draw(ints(n)), draw(ints(n)), draw(ints(n)), draw(ints(n)), keys, values, present)


@given(blocks())
def test_a_block_comes_back_exactly(block: Block) -> None:
    again = unpack_block(pack_block(block), block.keys)
    assert again.keys == block.keys
    for name in ("times_us", "boots", "boottimes_ns", "flags", "values", "present"):
        np.testing.assert_array_equal(getattr(again, name), getattr(block, name), err_msg=name)


@given(blocks(), st.sets(st.integers(0, 3)))
def test_some_columns_of_a_block_are_those_of_the_whole_block(block: Block, wanted: set[int]) -> None:
    names = {f"host|vmstat|k{i}" for i in wanted}
    some = unpack_block(pack_block(block), block.keys, names)
    places = [i for i, key in enumerate(block.keys) if key in names]
    assert some.keys == tuple(block.keys[i] for i in places)
    np.testing.assert_array_equal(some.times_us, block.times_us)
    np.testing.assert_array_equal(some.values, block.values[:, places])
    np.testing.assert_array_equal(some.present, block.present[:, places])


def test_a_body_of_another_layout_is_refused() -> None:
    body = pack_block(empty_block(["a", "b"]))
    with pytest.raises(ValueError, match="layout"):
        unpack_block(body, ["a"])
    with pytest.raises(ValueError, match="layout"):
        unpack_block(body, ["a"], ["a"])
    with pytest.raises(ValueError, match="ends early"):
        unpack_block(body[:-1], ["a", "b"])


@st.composite
def heat_rows(draw: st.DrawFn) -> HeatRow:
    n = draw(st.integers(0, 3))
    words = st.lists(st.sampled_from(["", "server", "worker", "cxl0", "größe"]), min_size=n, max_size=n)

    def optional(width: int) -> np.ndarray | None:
        found: np.ndarray | None = draw(st.none() | ints(n * width))
        return found

    return HeatRow(
        end_us=draw(st.integers(0, 2**60)),
        boottime_ns=draw(st.none() | st.integers(0, 2**62)),
        method=METHOD,
        groups=tuple(draw(words)),
        kinds=draw(ints(n)),
        page_sizes=draw(ints(n)),
        tiers=tuple(draw(words)),
        validity=draw(ints(n)),
        resident_bytes=draw(ints(n)),
        age_bytes=draw(ints(n * BUCKETS)),
        never_bytes=draw(ints(n * BUCKETS)),
        active_count_bytes=draw(ints(n * COUNTS)),
        active_lo_bytes=draw(ints(n * len(WINDOWS))),
        active_hi_bytes=draw(ints(n * len(WINDOWS))),
        load_samples=optional(1),
        store_samples=optional(1),
        period_events=draw(st.none() | st.floats(allow_nan=False, allow_infinity=False)),
        duty_ratio=draw(st.none() | st.floats(0, 1)),
        distinct_pages=optional(4),
        f1_pages=optional(4),
        f2_pages=optional(4),
        hot_intersection_bytes=optional(3),
        hot_union_bytes=optional(3),
    )


@given(st.lists(heat_rows(), min_size=1, max_size=4))
def test_heat_rows_come_back_exactly(rows: list[HeatRow]) -> None:
    again = unpack_rows(pack_rows(rows), METHOD)
    assert len(again) == len(rows)
    for one, other in zip(again, rows, strict=True):
        for field in dataclasses.fields(HeatRow):
            found, wanted = getattr(one, field.name), getattr(other, field.name)
            if isinstance(wanted, np.ndarray):
                np.testing.assert_array_equal(found, wanted, err_msg=field.name)
            else:
                assert found == wanted, field.name


def test_columns_and_the_last_row_of_a_pack_are_those_of_its_rows() -> None:
    rng = np.random.default_rng(5)
    sampled = draw_rows(rng, range(1, 11), sampled=True)
    plain = draw_rows(rng, range(11, 21))
    names = ("kinds", "load_samples")
    for rows in (sampled, plain, [*sampled, *draw_rows(rng, range(21, 23), strata=STRATA[:1], sampled=True)]):
        found = read_columns(pack_rows(rows), names)
        wanted = [columns_of_row(row, names) for row in rows]
        single = [part.take(np.array([place])) for part in found for place in range(len(part.ends_us))]
        for one, other in zip(single, wanted, strict=True):
            np.testing.assert_equal(dataclasses.asdict(one), dataclasses.asdict(other))
        for until_us in (rows[0].end_us - 1, rows[3].end_us, rows[3].end_us + 1, rows[-1].end_us):
            last = unpack_last(pack_rows(rows), DRAWN, until_us)
            before = [row for row in rows if row.end_us <= until_us]
            assert (last is None) == (not before)
            if last is not None:
                np.testing.assert_equal(dataclasses.asdict(last), dataclasses.asdict(before[-1]))
    assert read_columns(pack_rows(plain), ("hot_union_bytes",)) == []


def test_packs_fold_to_what_their_rows_fold_to() -> None:
    rng = np.random.default_rng(3)
    rows = draw_rows(rng, range(1, 31), sampled=True)
    rows += draw_rows(rng, range(31, 41), strata=STRATA[:2], validity=0b1011)
    rows += draw_rows(rng, range(41, 44), coarse=True)
    again = draw_rows(rng, range(43, 50))
    for some in (rows, [*rows, *again]):
        packs = [pack_rows(some[i : i + 10]) for i in range(0, len(some), 10)]
        _assert_same(fold_packs(7, packs, DRAWN), fold_rows(7, some))
    assert fold_packs(7, [], DRAWN) is None


@given(st.lists(heat_rows(), min_size=1, max_size=3), st.data())
def test_any_rows_fold_to_the_same_from_their_packs(rows: list[HeatRow], data: st.DataObject) -> None:
    """Numbers of all sizes, several strata of a group, kinds that are not known, validity with holes."""
    names = sorted({tier for row in rows for tier in row.tiers})
    chosen = st.sampled_from(names[:2] or ["dram"])
    for place, row in enumerate(rows):
        n = len(row.kinds)
        tiers = tuple(data.draw(chosen) for _ in range(n))
        kinds = np.array(data.draw(st.lists(st.sampled_from([0, 1, 3, 4, -1]), min_size=n, max_size=n)), np.int64)
        bits = data.draw(st.integers(1, 3))
        rows[place] = dataclasses.replace(
            row,
            end_us=place + 1,
            tiers=tiers,
            kinds=kinds,
            bits_per_interval=bits,
            sampled_pages=data.draw(st.none() | ints(n)),
            written_bytes=data.draw(st.none() | ints(n * 4)),
            subpage_active_bytes=data.draw(st.none() | ints(n)),
        )
    cut = data.draw(st.integers(0, len(rows)))
    packs = [pack_rows(some) for some in (rows[:cut], rows[cut:]) if some]
    assert compiled_fold().fold(packs) is not None
    with np.errstate(all="ignore"):
        _assert_same(fold_packs(7, packs, METHOD), fold_rows(7, rows))


def _assert_same(found: HeatSeries | None, wanted: HeatSeries | None) -> None:
    assert found is not None
    assert wanted is not None
    assert (found.groups, found.history) == (wanted.groups, wanted.history)
    for name in ("ends_us", "n_intervals"):
        np.testing.assert_array_equal(getattr(found, name), getattr(wanted, name))
    for field in dataclasses.fields(found.folded):
        np.testing.assert_array_equal(getattr(found.folded, field.name), getattr(wanted.folded, field.name), field.name)
    assert found.beside.sums.keys() == wanted.beside.sums.keys()
    for name, sums in found.beside.sums.items():
        np.testing.assert_array_equal(sums, wanted.beside[name], name)


def test_bodies_of_before_a_column_read_as_if_it_was_not_measured() -> None:
    rng = np.random.default_rng(5)
    n = len(STRATA)
    rows = [dataclasses.replace(row, dirty_bytes=np.full(n, 7)) for row in draw_rows(rng, range(1, 11), sampled=True)]
    head, _, raw = pack_rows(rows).partition(b"\n")
    values = np.frombuffer(raw, np.uint8).reshape(8, -1).T.copy().view("<i8").reshape(len(rows), -1)
    kept = np.ascontiguousarray(values[:, :-n]).reshape(-1)
    heads = [[*one[:6], one[6][:-1], *one[7:]] for one in json.loads(head)]
    raw = np.ascontiguousarray(kept.view(np.uint8).reshape(-1, 8).T).tobytes()
    body = json.dumps(heads, ensure_ascii=False).encode() + b"\n" + raw
    assert [row.dirty_bytes for row in unpack_rows(body, DRAWN)] == [None] * len(rows)
    old, new = fold_packs(7, [body], DRAWN), fold_packs(7, [pack_rows(rows)], DRAWN)
    assert old is not None
    assert new is not None
    assert not old.beside["dirty_of_bytes"].any()
    assert new.beside["dirty_of_bytes"].any()
    np.testing.assert_array_equal(old.beside["written_bytes"], new.beside["written_bytes"])


def test_names_that_look_like_the_separator_of_heads_do_not_mislead_the_fold() -> None:
    rng = np.random.default_rng(4)
    for name in ("a], [b", "], [], [", '"], ["', "plain"):
        rows = [dataclasses.replace(row, groups=(name,) * 4) for row in draw_rows(rng, range(1, 11))]
        found, wanted = fold_packs(7, [pack_rows(rows)], DRAWN), fold_rows(7, rows)
        assert found is not None
        assert wanted is not None
        np.testing.assert_array_equal(found.folded.age, wanted.folded.age)
        assert found.groups == wanted.groups
