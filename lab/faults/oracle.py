"""What has to be in the store, judged from what went over the wire: each acknowledged batch once, with its values."""

import contextlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import zstandard

from factories.waiting import NeverHappenedError, until
from faults.tap import Key, Tap
from tierscope.core.database import FLEET_SCHEMA, libpq_url
from tierscope.domain.counters.packing import unpack_block
from tierscope.domain.heat.packs import unpack_rows
from tierscope.domain.heat.rows import Method
from tierscope.domain.ingest.batch import Batch
from tierscope.wire.decode import DecodeLimits, decode_body

FLAG_CLOCK_CORRECTED = 1
_ON_THE_WAY_SECONDS = 120.0
"""A batch may be on its way between the looks at wire and store; one that stays away for so long is missing."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Sample = tuple[str, datetime | None, bytes, tuple[int | None, ...]]
"""Host, end of the interval (None where the service rebuilt it), layout, values."""


@dataclass(frozen=True, slots=True)
class Sent:
    """All different batches that reached the service whole."""

    batches: dict[Key, Batch]
    deliveries: int
    """How often any of them did."""

    def of(self, keys: Iterable[Key]) -> list[Batch]:
        """The batches of some keys."""
        return [self.batches[key] for key in keys]


@dataclass(slots=True)
class Stored:
    """What the store holds of some hosts."""

    keys: set[Key] = field(default_factory=set)
    gaps: set[Key] = field(default_factory=set)
    """Numbers that never came although later ones did."""
    samples: Counter[Sample] = field(default_factory=Counter)
    corrected: Counter[Sample] = field(default_factory=Counter)
    heat: Counter[tuple[str, datetime, tuple[int, ...]]] = field(default_factory=Counter)

    def add(self, sample: Sample, flags: int) -> None:
        """A sample, under its time unless the service rebuilt that."""
        host, _, layout, values = sample
        if flags & FLAG_CLOCK_CORRECTED:
            self.corrected[(host, None, layout, values)] += 1
        else:
            self.samples[sample] += 1


def key_of(body: bytes) -> Key:
    """The key of a batch."""
    batch = decode_body(body, DecodeLimits()).batch
    return batch.host_id, batch.stream_id.hex(), batch.seq


def read_sent(tap: Tap, hosts: set[str]) -> Sent:
    """Decodes what the tap saw of these hosts. A key with two contents would be a defect of the sender."""
    bodies: dict[Key, bytes] = {}
    batches: dict[Key, Batch] = {}
    deliveries = 0
    for body in list(tap.bodies):
        batch = decode_body(body, DecodeLimits()).batch
        if batch.host_id not in hosts:
            continue
        key = (batch.host_id, batch.stream_id.hex(), batch.seq)
        assert bodies.setdefault(key, body) == body, f"{key} was sent with two contents"
        batches[key] = batch
        deliveries += 1
    return Sent(batches, deliveries)


def _instant(wall_ns: int) -> datetime:
    return _EPOCH + timedelta(microseconds=int(wall_ns) // 1000)


def samples_of(batches: Iterable[Batch]) -> Counter[Sample]:
    """The samples that these batches hold."""
    found: Counter[Sample] = Counter()
    for batch in batches:
        for block in batch.counters:
            for index, end_ns in enumerate(block.end_wall_ns.tolist()):
                row: Sequence[int | None] = block.values[index].tolist()
                if block.present is not None:
                    row = [v if here else None for v, here in zip(row, block.present[index].tolist(), strict=True)]
                found[(batch.host_id, _instant(end_ns), block.layout_hash, tuple(row))] += 1
    return found


def heat_of(batches: Iterable[Batch]) -> Counter[tuple[str, datetime, tuple[int, ...]]]:
    """Resident bytes of the heat rows that these batches hold; one row to an interval and service."""
    found: Counter[tuple[str, datetime, tuple[int, ...]]] = Counter()
    for batch in batches:
        for block in batch.heat:
            resident = block.columns["resident_bytes"].reshape(-1).tolist()
            for end_ns, value in zip(block.end_wall_ns.tolist(), resident, strict=True):
                found[(batch.host_id, _instant(end_ns), (value,))] += 1
    return found


def read_stored(url: str, hosts: set[str]) -> Stored:
    """Reads what a database holds of these hosts."""
    stored = Stored()
    names = (list(hosts),)
    with psycopg.connect(libpq_url(url), options=f"-c timezone=UTC -c search_path={FLEET_SCHEMA},public") as connection:
        streams = connection.execute(
            "SELECT h.public_id, encode(s.stream_id, 'hex'), s.next_seq, s.gaps::text, s.batches"
            " FROM streams s JOIN hosts h ON h.id = s.host_id WHERE h.public_id = ANY(%s)",
            names,
        ).fetchall()
        for host, stream, next_seq, gaps, batches in streams:
            missing = _numbers(gaps)
            stored.gaps |= {(host, stream, seq) for seq in missing}
            stored.keys |= {(host, stream, seq) for seq in range(next_seq) if seq not in missing}
            assert batches == next_seq - len(missing), f"{host}: {batches} batches counted, stream says otherwise"
        rows = connection.execute(
            "SELECT h.public_id, c.ts, l.hash, c.vals, c.flags FROM counters_live c JOIN hosts h ON h.id = c.host_id"
            " JOIN layouts l ON l.id = c.layout_id WHERE h.public_id = ANY(%s)",
            names,
        )
        live = set()
        for host, ts, layout, values, flags in rows:
            live.add((host, ts, bytes(layout)))
            stored.add((host, ts, bytes(layout), tuple(values)), flags)
        heat = connection.execute(
            "SELECT h.public_id, t.ts, t.resident_bytes FROM heat_live t JOIN hosts h ON h.id = t.host_id"
            " WHERE h.public_id = ANY(%s)",
            names,
        )
        stored.heat.update((host, ts, tuple(resident)) for host, ts, resident in heat)
        _add_packed(connection, names, stored, live)
    return stored


def _add_packed(
    connection: psycopg.Connection[Any], names: tuple[list[str]], stored: Stored, live: set[tuple[str, datetime, bytes]]
) -> None:
    """What closed hours alone still hold: live rows leave a day and a half after their hour, by the service's clock."""
    packed = connection.execute(
        "SELECT h.public_id, l.hash, l.keys, c.body FROM counters_packed c JOIN hosts h ON h.id = c.host_id"
        " JOIN layouts l ON l.id = c.layout_id WHERE h.public_id = ANY(%s)",
        names,
    )
    for host, layout, keys, body in packed:
        block = unpack_block(body, keys)
        rows = zip(block.times_us.tolist(), block.flags.tolist(), block.values, block.present, strict=True)
        for end_us, flags, values, present in rows:
            key = (host, _instant(end_us * 1000), bytes(layout))
            if key not in live:
                row = tuple(v if here else None for v, here in zip(values.tolist(), present.tolist(), strict=True))
                stored.add((*key, row), flags)
    live_heat = {(host, ts) for host, ts, _ in stored.heat}
    inflate = zstandard.ZstdDecompressor()
    bodies = connection.execute(
        "SELECT h.public_id, p.backend, p.granularity, p.interval_ns, p.body FROM heat p"
        " JOIN hosts h ON h.id = p.host_id WHERE h.public_id = ANY(%s)",
        names,
    )
    for host, backend, granularity, interval_ns, body in bodies:
        for heat_row in unpack_rows(inflate.decompress(body), Method(backend, granularity, interval_ns)):
            end = _instant(heat_row.end_us * 1000)
            if (host, end) not in live_heat:
                stored.heat[(host, end, tuple(heat_row.resident_bytes.tolist()))] += 1


def _numbers(multirange: str) -> set[int]:
    """The numbers of an int8multirange as PostgreSQL prints it: `{[3,5),[7,8)}`."""
    found: set[int] = set()
    for part in multirange.strip("{}").replace("),", ")|").split("|"):
        if part:
            low, high = part.strip("[)").split(",")
            found |= set(range(int(low), int(high)))
    return found


@dataclass(frozen=True, slots=True)
class Verdict:
    """Counts of one run."""

    sent: int
    acknowledged: int
    stored: int
    deliveries: int
    lost: int
    """Acknowledged batches that are not stored, and samples that a stored batch held and the store does not."""
    stored_twice: int
    """Samples that the store holds more often than they were sent."""
    missing: int
    """Numbers that never came: what the host itself lost."""


def judge(tap: Tap, url: str, hosts: set[str]) -> Verdict:
    """Compares wire and store."""
    acknowledged: set[Key] = set()
    stored, sent = Stored(), Sent({}, 0)

    def agree() -> bool:
        # What was acknowledged before the store is read has to be in it, and what is in it was sent before the wire is
        # read.
        nonlocal acknowledged, stored, sent
        acknowledged = set(tap.acknowledged_of(hosts))
        stored = read_stored(url, hosts)
        sent = read_sent(tap, hosts)
        return stored.keys == set(sent.batches)

    with contextlib.suppress(NeverHappenedError):  # the verdict says what is missing
        until(agree, "all that was sent is stored", seconds=_ON_THE_WAY_SECONDS)
    strangers = stored.keys - set(sent.batches)
    assert not strangers, f"stored and never sent: {sorted(strangers)[:3]}"
    expected = samples_of(sent.of(stored.keys))
    # A time that the service rebuilt is another than the one that was sent; the values are the same.
    plain = expected & stored.samples
    rest = Counter[Sample]()
    for (host, _, layout, values), count in (expected - plain).items():
        rest[(host, None, layout, values)] += count
    heat = heat_of(sent.of(stored.keys))
    surplus = (stored.samples - plain) + (stored.corrected - rest)
    absent = rest - stored.corrected
    return Verdict(
        sent=len(sent.batches),
        acknowledged=len(acknowledged),
        stored=len(stored.keys),
        deliveries=sent.deliveries,
        lost=len(acknowledged - stored.keys) + absent.total() + (heat - stored.heat).total(),
        stored_twice=surplus.total() + (stored.heat - heat).total(),
        missing=len(stored.gaps),
    )
