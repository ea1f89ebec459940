"""Columns of a service say what the series of its hosts say, to the rounding of their shares."""

import dataclasses
import json
from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np
import pytest

from factories.heat_rows import HOUR_US, METHOD, STRATA, draw_hours
from tierscope.domain.base.axis import make_grid
from tierscope.domain.base.figures import Window
from tierscope.domain.heat.beside import BESIDE_WIDTHS
from tierscope.domain.heat.classes import Rule, make_rule
from tierscope.domain.heat.column_joins import join_columns, take_buckets
from tierscope.domain.heat.column_series import series_of_hosts
from tierscope.domain.heat.column_source import ColumnSource
from tierscope.domain.heat.columns import Packed, make_columns, pack_columns, unpack_columns
from tierscope.domain.heat.rows import HeatSeries
from tierscope.domain.heat.source import SeriesSource

ROUNDING = 2e-5
RULES = [
    *(make_rule("recency", threshold) for threshold in (1, 2, 20)),
    *(make_rule("cold_age", threshold) for threshold in (5, 64)),
    *(make_rule("frequency", threshold) for threshold in (1, 5)),
]


def fleet(**options: object) -> list[HeatSeries]:
    """Hosts that miss minutes and whole hours, one of them without some groups."""
    rng = np.random.default_rng(11)
    hours = [draw_hours(rng, host, range(1, 301), **options) for host in (3, 5, 8, 9, 12, 17, 18, 21)]
    hours.append(draw_hours(rng, 30, [*range(1, 50), *range(130, 200)], **options))
    hours.append(draw_hours(rng, 31, range(100, 290), strata=STRATA[:1], **options))
    return hours


def numbers(value: object) -> list[float]:
    """All numbers of a value, in order; None as -1."""
    found = []
    for field in dataclasses.fields(value):  # type: ignore[arg-type]
        part = getattr(value, field.name)
        found += numbers(part) if dataclasses.is_dataclass(part) else [-1.0 if part is None else float(part)]
    return found


def stored(series: Sequence[HeatSeries]) -> ColumnSource:
    """The columns, packed hour by hour and unpacked again."""
    columns = make_columns(series)
    packs = []
    for at, end in enumerate(columns.ends_us.tolist()):
        body, counts = pack_columns(columns, at)
        packs.append(Packed(end, body, counts))
    return ColumnSource(unpack_columns(packs, METHOD))


CASES = [{}, {"sampled": True}, {"coarse": True}, {"validity": 0b111111}]


@pytest.fixture(scope="module", params=CASES, ids=["exact", "sampled", "coarse", "short"])
def both(request: pytest.FixtureRequest) -> tuple[SeriesSource, ColumnSource]:
    series = fleet(**request.param)
    return SeriesSource(tuple(series)), stored(series)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: f"{rule.scheme}-{rule.threshold}")
def test_classes_shares_and_bounds_are_the_same(both: tuple[SeriesSource, ColumnSource], rule: Rule) -> None:
    series, columns = both
    for kind in (None, "anon", "file", "tmpfs"):
        one, other = (series, columns) if kind is None else (series.pick(kind=kind), columns.pick(kind=kind))
        assert one is not None
        assert other is not None
        wanted, found = one.classes(rule), other.classes(rule)
        scale = one.resident()
        for name in ("value", "lo", "hi"):
            np.testing.assert_allclose(getattr(found, name) / scale, getattr(wanted, name) / scale, atol=ROUNDING)
        assert found.sampled == wanted.sampled
        for place in range(4):
            share, host = one.share(rule, place), one.host_share(rule, place)
            assert share is not None
            assert numbers(other.share(rule, place)) == pytest.approx(numbers(share), abs=ROUNDING)
            assert other.host_share(rule, place).keys() == host.keys()
            for key, value in host.items():
                assert numbers(other.host_share(rule, place)[key]) == pytest.approx(numbers(value), abs=ROUNDING)


def test_what_stands_beside_and_ages_and_placement_are_the_same(both: tuple[SeriesSource, ColumnSource]) -> None:
    series, columns = both
    scale = series.resident()
    assert columns.resident() == pytest.approx(scale, rel=1e-6)
    assert columns.host_resident() == pytest.approx(series.host_resident(), rel=1e-6)
    for found, wanted in zip(columns.ages(), series.ages(), strict=True):
        np.testing.assert_allclose(found / scale, wanted / scale, atol=ROUNDING)
    placed, known = columns.misplaced(make_rule("recency")), series.misplaced(make_rule("recency"))
    assert placed is not None
    assert known is not None
    for one_side, other_side in zip(placed, known, strict=True):
        assert dataclasses.astuple(one_side) == pytest.approx(dataclasses.astuple(other_side), rel=1e-3)
    assert (columns.kinds, columns.sizes) == (series.kinds, series.sizes)
    assert columns.longest_bucket == series.longest_bucket
    huge, known_huge = columns.huge_pages(), series.huge_pages()
    assert huge is not None
    assert known_huge is not None
    assert dataclasses.astuple(huge) == pytest.approx(dataclasses.astuple(known_huge), rel=1e-5)
    part, known_part = columns.part("written_bytes"), series.part("written_bytes")
    assert (part is None) == (known_part is None)
    if part is not None and known_part is not None:
        np.testing.assert_allclose(part.bytes, known_part.bytes, rtol=1e-5)
        assert part.of == pytest.approx(known_part.of, rel=1e-5)
    for rule in RULES:
        parts, known_parts = (source.class_parts("written_bytes", 1, rule) for source in (columns, series))
        assert (parts is None) == (known_parts is None)
        if parts is not None and known_parts is not None:
            np.testing.assert_allclose(parts.lo / scale, known_parts.lo / scale, atol=ROUNDING)
            np.testing.assert_allclose(parts.hi / scale, known_parts.hi / scale, atol=ROUNDING)
    if series.sampled_pages() is None:
        assert columns.sampled_pages() is None
    else:
        assert columns.sampled_pages() == pytest.approx(series.sampled_pages(), rel=1e-5)


def test_series_made_of_columns_are_those_that_the_columns_were_made_of(
    both: tuple[SeriesSource, ColumnSource],
) -> None:
    series, columns = both
    wanted = {part.host_id: part for part in series.series}
    found = series_of_hosts(columns.columns, [3, 30, 31, 999])
    assert found.keys() == {3, 30, 31}
    for host_id, part in found.items():
        known = wanted[host_id]
        assert part.groups == tuple(sorted(known.groups))
        np.testing.assert_array_equal(part.ends_us, known.ends_us)
        np.testing.assert_array_equal(part.n_intervals, known.n_intervals)
        known = known.take_groups([known.groups.index(group) for group in part.groups])
        scale = known.folded.resident.max()
        for name in ("resident", "age", "never", "lo", "hi"):
            ours, theirs = getattr(part.folded, name), getattr(known.folded, name)
            np.testing.assert_allclose(ours / scale, theirs / scale, atol=ROUNDING)
        for name in BESIDE_WIDTHS:
            np.testing.assert_allclose(part.beside[name], known.beside[name], rtol=1e-5, atol=1)


def test_stretches_of_columns_join_to_the_whole(both: tuple[SeriesSource, ColumnSource]) -> None:
    whole = both[1].columns
    parts = [take_buckets(whole, places) for places in ([0], [1, 2], range(3, len(whole.ends_us)))]
    # A stretch holds the hosts that have it, and the join of all stretches those of any.
    assert len(parts[0].host_ids) < len(whole.host_ids)
    joined = join_columns(parts)
    for field in dataclasses.fields(whole):
        np.testing.assert_array_equal(getattr(joined, field.name), getattr(whole, field.name))
    ends = [int(end) for end in take_buckets(whole, [0, 2]).ends_us]
    assert ends == [int(whole.ends_us[0]), int(whole.ends_us[2])]


@pytest.mark.parametrize("max_points", [500, 3, 1])
def test_lines_and_coverage_are_the_same(both: tuple[SeriesSource, ColumnSource], max_points: int) -> None:
    series, columns = both
    window = Window(datetime.fromtimestamp(0, UTC), datetime.fromtimestamp(6 * 3600, UTC))
    grid = make_grid(window, interval_s=3600, max_points=max_points)
    for rule in (make_rule("recency"), make_rule("frequency")):
        wanted, found = series.lines(rule, grid), columns.lines(rule, grid)
        scale = np.nanmax(wanted)
        np.testing.assert_allclose(found / scale, wanted / scale, atol=ROUNDING)
    seen = {host.host_id: host for host in columns.observed(0, 6 * 3600)}
    for host in series.observed(0, 6 * 3600):
        other = seen[host.host_id]
        assert (other.n_intervals, other.coverage) == (host.n_intervals, pytest.approx(host.coverage))


def test_a_part_of_the_hosts_of_an_hour_is_packed_without_the_others() -> None:
    series = fleet()
    columns = make_columns(series)
    sizes = [len(pack_columns(columns, at)[0]) for at in range(len(columns.ends_us))]
    assert columns.ends_us.tolist() == [(hour + 1) * HOUR_US for hour in range(5)]
    assert sizes[0] < sizes[2]


def test_a_body_that_was_packed_with_fewer_values_beside_heat_reads_as_if_the_others_were_not_measured() -> None:
    columns = make_columns(fleet(sampled=True))
    body, counts = pack_columns(columns, 0)
    head, _, raw = body.partition(b"\n")
    described = json.loads(head)
    n = described["hosts"] * len(described["groups"]) * np.dtype("<f4").itemsize
    # The values beside heat end a body, and the newest of them come last.
    values, first = described.pop("beside"), 8
    raw = raw[: len(raw) - (values - first) * n]
    old = unpack_columns([Packed(0, json.dumps(described).encode() + b"\n" + raw, counts)], METHOD)
    new = unpack_columns([Packed(0, body, counts)], METHOD)
    assert old.beside is not None
    assert new.beside is not None
    np.testing.assert_array_equal(old.beside[:, :first], new.beside[:, :first])
    assert not old.beside[:, first:].any()
    assert ColumnSource(old).part("written_bytes") is not None
