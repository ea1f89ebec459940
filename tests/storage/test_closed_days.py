"""What is read of the ledger and of reuse gaps is the same whether their days are rows or packed."""

import dataclasses
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime, timedelta
from functools import partial

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from sqlalchemy import text

from fixtures.elsewhere import long
from tierscope.core.clock import utc_now
from tierscope.core.database import Database, ReadSession, WriteTransaction
from tierscope.domain.base.buckets import HOUR_US, day_of
from tierscope.domain.base.jobs import GAP_DAYS, LATE, TIER_MOVE_DAYS, Job, due_table
from tierscope.domain.heat.rows import Method
from tierscope.domain.ingest.batch import GAP_BINS, GapBlock, ServiceKey
from tierscope.domain.ledger import COLUMN_KEYS, COLUMNS
from tierscope.storage.alerts.rule_inputs import RULES, InputRows, append_inputs, stored_spans
from tierscope.storage.base import copy
from tierscope.storage.base.binary import to_us
from tierscope.storage.base.partitions import drop_old, ensure_partitions, ensure_usual_partitions
from tierscope.storage.curve import reuse_intervals
from tierscope.storage.ingest.heat_rows import gap_rows
from tierscope.storage.ledger.days import LEDGER, Moves, copy_moves, unpack_days
from tierscope.storage.ledger.fleet import sum_minutes
from tierscope.storage.ledger.rows import first_after, read_ledger, read_newest, recorded_seconds, sum_flows
from tierscope.storage.ledger.services import list_resets, sum_hour
from tierscope.storage.promql.ledgers import bucket_ledgers
from tierscope.storage.statistics.host_means import read_ledger_means
from tierscope.storage.tables import gaps

DAY = timedelta(days=1)
FIRST = day_of(utc_now()) - timedelta(days=20)
DAYS = 3
HOSTS, SERVICES = (1, 2, 3), (0, 7)
PICKED = ("promoted_pages", "demoted_pages", "psi_some_us", *(c.key for c in COLUMNS if c.gauge))
KEYS = tuple(dict.fromkeys((*PICKED, *COLUMN_KEYS[:6])))
METHODS = (Method(1, 1, 60 * 10**9), Method(2, 1, 10**9))
EVERY_USED = dict.fromkeys(HOSTS, frozenset(KEYS))
quick = settings(
    max_examples=6,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    # Without shrinking: every case asks a database some hundred times. What differs is named.
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
)


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    with closing(Database(database_url)) as opened:
        with opened.write() as transaction:
            ensure_partitions(transaction, FIRST - DAY, FIRST + DAYS * DAY)
        yield opened


@st.composite
def moves(draw: st.DrawFn, host: int, service: int) -> Moves:
    """Minutes of up to three days, with holes, repeats, edges of days, and columns that come and go."""
    minutes = sorted(draw(st.lists(st.integers(1, DAYS * 1440), min_size=0, max_size=8, unique=True)))
    edges = [minute for minute in (1440, 1441, 2880) if draw(st.booleans())]
    times = sorted({*minutes, *edges})
    n = len(times)
    held = draw(st.lists(st.sampled_from(KEYS), unique=True))
    values, present = np.zeros((n, len(COLUMN_KEYS)), np.int64), np.zeros((n, len(COLUMN_KEYS)), bool)
    for key in held:
        place = COLUMN_KEYS.index(key)
        there = np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n)), bool)
        drawn = draw(st.lists(st.sampled_from([0, 1, 300, 2**40]), min_size=n, max_size=n))
        present[:, place], values[:, place] = there, np.where(there, np.array(drawn, np.int64), 0)
    causes = draw(st.lists(st.sampled_from([0, 0, 1, 4]), min_size=n, max_size=n))
    trusts = draw(st.lists(st.sampled_from([0, 3, 9]), min_size=n, max_size=n))
    seconds = draw(st.lists(st.sampled_from([60.0, 59.984375, 600.0]), min_size=n, max_size=n))
    found = Moves(
        host,
        service,
        to_us(FIRST) + 60_000_000 * np.array(times, np.int64),
        np.array(seconds),
        np.array(causes, np.int64),
        np.array(trusts, np.int64),
        values,
        present,
    )
    repeats = draw(st.lists(st.booleans(), min_size=n, max_size=n))
    return found.rows(np.repeat(np.arange(n), 1 + np.array(repeats, np.int64)))


ALL_MOVES = st.tuples(*(moves(host, service) for host in HOSTS for service in SERVICES))


def plain(found: object) -> object:
    """An answer as nested lists, with numbers that are summed in another order alike."""
    if isinstance(found, np.ndarray):
        return plain(found.tolist())
    if dataclasses.is_dataclass(found) and not isinstance(found, type):
        return {field.name: plain(getattr(found, field.name)) for field in dataclasses.fields(found)}
    if isinstance(found, dict):
        return {key: plain(value) for key, value in sorted(found.items())}
    if isinstance(found, list | tuple):
        return [plain(item) for item in found]
    if isinstance(found, float):
        return "NaN" if np.isnan(found) else float(f"{found:.9g}")
    return found


def answers(session: ReadSession, start: datetime, end: datetime) -> dict[str, object]:
    hour = start.replace(minute=0)
    found: dict[str, object] = {
        "recorded": recorded_seconds(session, HOSTS),
        "minutes": sum_minutes(session, start, end),
    }
    for host in HOSTS:
        found[f"first {host}"] = first_after(session, [host], start).get(host)
    for service in SERVICES:
        flows = partial(sum_flows, session, KEYS, start, end, host_ids=HOSTS, service_id=service)
        found |= {
            f"ledger {service}": read_ledger(session, HOSTS, service, start, end),
            f"newest {service}": read_newest(session, [(host, service) for host in HOSTS], rows=3, since=start),
            f"one {service}": read_newest(session, [(host, service) for host in HOSTS], rows=1, since=start),
            f"flows {service}": flows(),
            f"hours {service}": flows(width_us=HOUR_US, by_host=False),
            f"buckets {service}": bucket_ledgers(
                session, PICKED, HOSTS, start, end, width_us=HOUR_US, service_id=service
            ),
            f"means {service}": sorted(
                read_ledger_means(session, HOSTS, service, PICKED, (start, end), 3600),
                key=lambda cell: (cell.host_id, cell.end_s, cell.name),
            ),
            f"hour {service}": sum_hour(session, service, HOSTS, hour),
            f"resets {service}": list_resets(session, service, HOSTS, hour, EVERY_USED),
        }
    return {name: plain(answer) for name, answer in found.items()}


def differing(found: list[dict[str, object]], wanted: list[dict[str, object]]) -> dict[str, tuple[object, object]]:
    return {
        f"{name} of {window}": (one[name], other[name])
        for window, (one, other) in enumerate(zip(found, wanted, strict=True))
        for name in other
        if one[name] != other[name]
    }


def rows_left(session: ReadSession, table: str) -> int:
    return int(session.execute(text(f"SELECT count(*) FROM {table}")).scalar_one())


def check_moves(database: Database, data: st.DataObject) -> None:
    drawn = data.draw(ALL_MOVES)
    first, last = sorted(data.draw(st.lists(st.integers(0, DAYS * 1440 + 60), min_size=2, max_size=2, unique=True)))
    windows = [(FIRST + first * timedelta(minutes=1), FIRST + last * timedelta(minutes=1)), (FIRST, FIRST + DAYS * DAY)]
    packed = data.draw(st.lists(st.tuples(st.sampled_from(HOSTS), st.integers(-1, DAYS)), unique=True, max_size=12))
    with database.write() as transaction:
        for table in ("tier_moves", "tier_move_days", "marks"):
            transaction.execute(text(f"DELETE FROM {table}"))
        copy_moves(transaction, drawn)
        wanted = [answers(transaction, *window) for window in windows]
        before = rows_left(transaction, "tier_moves")
        for host, day in packed:
            LEDGER.close(transaction, host, [FIRST + day * DAY])
        assert differing([answers(transaction, *window) for window in windows], wanted) == {}
        for host in HOSTS:
            LEDGER.close(transaction, host, [FIRST + day * DAY for day in range(-1, DAYS)])
        assert rows_left(transaction, "tier_moves") == 0
        assert differing([answers(transaction, *window) for window in windows], wanted) == {}
        for host, _ in packed:
            unpack_days(transaction, host, windows[:1])
        assert differing([answers(transaction, *window) for window in windows], wanted) == {}
        for host in HOSTS:
            unpack_days(transaction, host, windows[1:])
        assert rows_left(transaction, "tier_moves") == before
        assert differing([answers(transaction, *window) for window in windows], wanted) == {}


@pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
@quick
@given(data=st.data())
def test_packed_days_of_the_ledger_say_what_their_rows_said(database: Database, data: st.DataObject) -> None:
    check_moves(database, data)


@long
@pytest.mark.parametrize("storage_mode", ["timescaledb"], indirect=True)
@settings(quick, max_examples=3)
@given(data=st.data())
def test_packed_days_of_the_ledger_say_the_same_with_timescaledb(database: Database, data: st.DataObject) -> None:
    check_moves(database, data)


@st.composite
def gap_blocks(draw: st.DrawFn) -> tuple[int, int, GapBlock]:
    """Blocks of a few groups at few instants, so that some are repeats."""
    n = draw(st.integers(1, 3))
    end = FIRST + draw(st.sampled_from([1, 600, 1440, 1441, 4000])) * timedelta(minutes=1)
    rng = np.random.default_rng(draw(st.integers(0, 3)))
    table = rng.integers(0, 3, (n, GAP_BINS)) * 4096
    block = GapBlock(
        method=draw(st.sampled_from(METHODS)),
        end_wall_ns=to_us(end) * 1000,
        intervals=draw(st.sampled_from([1, 60])),
        services=(ServiceKey("default", "web"),) * n,
        groups=tuple(draw(st.lists(st.sampled_from(["", "server", "größe"]), min_size=n, max_size=n))),
        kinds=rng.integers(0, 3, n),
        closed_bytes=table,
        freed_bytes=table[::-1] * 2,
        open_bytes=np.zeros_like(table),
        censored_bytes=draw(st.sampled_from([None, table + 1])),
    )
    return draw(st.sampled_from(HOSTS)), draw(st.sampled_from((7, 8))), block


def store_gaps(transaction: WriteTransaction, drawn: list[tuple[int, int, GapBlock]]) -> None:
    rows = [
        gap_rows(host, block.end_wall_ns, block, {service: list(range(len(block.groups)))})
        for host, service, block in drawn
    ]
    copy.copy_rows(transaction, "gaps", gaps.columns.keys(), rows)


def check_gaps(database: Database, data: st.DataObject) -> None:
    drawn = data.draw(st.lists(gap_blocks(), max_size=10, unique_by=lambda one: (*one[:2], one[2].end_wall_ns)))
    late = drawn[len(drawn) // 2 :]

    def read(session: ReadSession) -> object:
        windows = [(FIRST, FIRST + DAYS * DAY), (FIRST + timedelta(hours=10), FIRST + DAY)]
        return plain([reuse_intervals.read_gaps(session, 7, *window, HOSTS) for window in windows])

    with database.write() as transaction:
        for table in ("gaps", "gap_days"):
            transaction.execute(text(f"DELETE FROM {table}"))
        store_gaps(transaction, [*drawn, *drawn[:2]])
        wanted = read(transaction)
        transaction.execute(text("DELETE FROM gaps"))
        # A part of it is packed when the rest comes, with one that is stored already.
        for part in (drawn[: len(drawn) // 2], [*late, *drawn[:1]]):
            store_gaps(transaction, part)
            for host in HOSTS:
                reuse_intervals.GAPS.close(transaction, host, [FIRST + day * DAY for day in (0, 1)])
        assert read(transaction) == wanted
        for host in HOSTS:
            reuse_intervals.GAPS.close(transaction, host, [FIRST + day * DAY for day in range(-1, DAYS + 1)])
        assert rows_left(transaction, "gaps") == 0
        assert read(transaction) == wanted


@pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
@quick
@given(data=st.data())
def test_packed_days_of_reuse_gaps_say_what_their_rows_said(database: Database, data: st.DataObject) -> None:
    check_gaps(database, data)


@long
@pytest.mark.parametrize("storage_mode", ["timescaledb"], indirect=True)
@settings(quick, max_examples=3)
@given(data=st.data())
def test_packed_days_of_reuse_gaps_say_the_same_with_timescaledb(database: Database, data: st.DataObject) -> None:
    check_gaps(database, data)


@pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
def test_minutes_that_were_judged_are_known_once_their_day_is_packed(database: Database) -> None:
    ends = FIRST.timestamp() + 60.0 * np.array([1.0, 2.0, 5.0, 1440.0, 1441.0])
    one, length = np.ones(len(ends), np.int64), np.full(len(ends), 60.0)
    values = np.stack([ends, np.full(len(ends), np.nan)], axis=1)
    spans = [(FIRST, FIRST + DAY), (FIRST + timedelta(minutes=3), FIRST + 2 * DAY), (FIRST - DAY, FIRST)]

    def judged() -> list[list[tuple[float, float]]]:
        return [stored_spans(transaction, [1], [7], *span).get((1, 7), []) for span in spans]

    with database.write() as transaction:
        transaction.execute(text(f"DROP TABLE rule_inputs_p{FIRST:%Y%m%d}"))
        append_inputs(transaction, InputRows(one, 7 * one, ends, length, 0.0 * length, ("a", "b"), values))
        wanted = judged()
        RULES.close(transaction, 1, (FIRST, FIRST + DAY))
        transaction.execute(text("DELETE FROM rule_inputs"))
        assert judged() == wanted
    assert [len(found) for found in wanted] == [4, 3, 0]


@pytest.mark.parametrize("job", [TIER_MOVE_DAYS, GAP_DAYS], ids=lambda job: job.kind)
def test_a_day_is_packed_once_no_late_data_is_taken_for_it(job: Job) -> None:
    now = FIRST + timedelta(hours=1)
    assert due_table(now)[job.kind] == now - DAY - LATE


@pytest.mark.parametrize(
    ("table", "kind"),
    [
        ("tier_moves", "tier_move_days"),
        ("gaps", "gap_days"),
        ("gap_days", "gap_days"),
        ("counters_packed", "counters_pack"),
        ("heat", "heat"),
    ],
)
@pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
def test_rows_stay_until_their_day_is_packed(database: Database, table: str, kind: str) -> None:
    with database.write() as transaction:
        transaction.execute(
            text("INSERT INTO marks (kind, subject_id, service_id, bucket) VALUES (:kind, 1, 0, :day)"),
            {"kind": kind, "day": FIRST},
        )
        later = FIRST + timedelta(days=400)
        kept = drop_old(transaction, later)[table]
        transaction.execute(text("DELETE FROM marks"))
        assert drop_old(transaction, later)[table] > kept


@pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
def test_what_is_still_to_be_packed_has_its_partition_however_old_it_is(database: Database) -> None:
    mark = text("INSERT INTO marks (kind, subject_id, service_id, bucket) VALUES ('counters_pack', 1, 0, :day)")
    pack = text("INSERT INTO counters_packed (host_id, ts, layout_id, n, body) VALUES (1, :day, 1, 1, '')")
    later = FIRST + timedelta(days=20)
    with database.write() as transaction:
        drop_old(transaction, later)
        transaction.execute(mark, {"day": FIRST})
        assert ensure_usual_partitions(transaction, later) > 0
        transaction.execute(pack, {"day": FIRST})
        drop_old(transaction, later)
        assert transaction.execute(text("SELECT count(*) FROM counters_packed")).scalar_one() == 1
