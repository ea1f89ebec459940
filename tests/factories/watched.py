"""Hosts under alert rules: recordings and made-up counters, stored and judged as time goes on."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from sqlalchemy import text

from factories import batches
from factories.derived import drain
from factories.installations import Enrolled, enrol, store
from factories.kernel_lab import load
from tierscope.core.clock import utc_now
from tierscope.core.database import Database
from tierscope.usecases.alerts.evaluate import EvaluateRules
from tierscope.wire._generated import batch_pb2

_KEPT = ("host|vmstat|", "node:0|vmstat|nr_", "node:1|vmstat|nr_", "cgroup:/load|memory.", "host|pressure.memory|")
Cells = list[int | None]
DRAM_BYTES = 768 << 20


@dataclass(frozen=True)
class Change:
    minute: int
    rule: str
    host: str
    before: str
    after: str
    severity: str


@dataclass
class Watched:
    """An installation whose minutes begin at `start`; minute 0 is the base of the first difference."""

    database: Database
    minutes: int
    start: datetime = field(init=False)
    _seqs: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        now = utc_now().replace(second=0, microsecond=0)
        self.start = now - timedelta(minutes=self.minutes + 10)

    def at(self, minute: float) -> datetime:
        return self.start + timedelta(minutes=minute)

    def enrol(self, name: str = "node-1", *, origin: str = "simulated") -> Enrolled:
        """A host. Recordings that are stored at once are of simulated hosts: their minutes have no arrival."""
        host = enrol(self.database, name=name, origin=origin)
        with self.database.write() as transaction:
            moment = {"at": self.start, "id": host.id}
            transaction.execute(text("UPDATE hosts SET enrolled_at = :at WHERE public_id = :id"), moment)
        return host

    def send(
        self,
        host: Enrolled,
        keys: Sequence[str],
        rows: Sequence[Cells],
        *,
        first: int = 0,
        boots: Sequence[str] = (),
        seconds: int = 60,
        page_bytes: int = 4096,
    ) -> None:
        """Store samples from minute `first` on, `seconds` apart, and rebuild what stands on them after the last."""
        begin = int(self.at(first).timestamp())
        ends = [(begin + seconds * i) * batches.SECOND_NS for i in range(len(rows))]
        origin = batch_pb2.ORIGIN_LIVE
        seq = self._seqs.get(host.id, 0)
        self._seqs[host.id] = seq + 1
        batch = batches.make_batch(host_id=host.id, seq=seq, sealed_wall_ns=ends[-1], origin=origin)
        batches.add_counters(batch, rows, ends_ns=ends, keys=keys, boot_ids=boots)
        batches.add_inventory(batch, hostname=host.identity.name)
        batch.inventory.nodes[0].memory_bytes = DRAM_BYTES
        batch.inventory.page_size_bytes = page_bytes
        assert store(self.database, host, [batch])
        last = first + (len(rows) - 1) * seconds / 60
        drain(self.database, self.at(last + 0.5))

    def evaluate(self, minute: float) -> int:
        """Judge as at a moment; how many minutes were judged."""
        done = EvaluateRules(self.database, lambda: self.at(minute)).run()
        assert done.failed == []
        return done.minutes

    def changes(self, rule: str | None = None) -> list[Change]:
        statement = text(
            "SELECT c.at, a.rule_name, a.subject_name, c.from_state, c.to_state, c.severity FROM alert_changes c"
            " JOIN alerts a ON a.id = c.alert_id ORDER BY c.id"
        )
        with self.database.read() as session:
            found = [
                Change(round((row.at - self.start).total_seconds() / 60), *row[1:])
                for row in session.execute(statement)
            ]
        return [change for change in found if rule is None or change.rule == rule]


def recording(name: str) -> tuple[tuple[str, ...], list[Cells]]:
    """Keys and samples of a recording, its workload as the service demo/cache."""
    _, keys, values, present = load(name)
    places = [i for i, key in enumerate(keys) if key.startswith(_KEPT)]
    named = sorted((keys[i].replace("cgroup:/load|", "service:demo/cache|"), i) for i in places)
    rows: list[Cells] = [
        [int(values[row, i]) if present[row, i] else None for _, i in named] for row in range(len(values))
    ]
    return tuple(key for key, _ in named), rows
