"""Remote write: CPU per million samples of ours, of Prometheus and of VictoriaMetrics, for the same stream of samples.

The stream is a fleet of node_exporters: the names and labels are those that the Debian package prints of a recorded
machine with two memory tiers, counters grow and gauges move. Each receiver gets the same requests in the same order
over as many connections; what it uses is read from /proc, of all its processes, when all is answered and written.
"""

import http.client
import os
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import numpy as np
import numpy.typing as npt
import psycopg
from sqlalchemy import text

from bench.figures import Row, Section
from bench.ingest import serving
from factories.loopback import free_port
from factories.prometheus import answers, exporter
from factories.remote_writes import HEADERS
from factories.snapshot_trees import unpack
from factories.waiting import until
from fixtures.servers import running_cluster
from tierscope.core.database import Database, libpq_url
from tierscope.domain.base.jobs import SAMPLES_PACK
from tierscope.storage.base.dirty_buckets import claim, due_subjects
from tierscope.storage.base.schema import upgrade
from tierscope.usecases.access.tokens import Access
from tierscope.usecases.rebuild.drain import DrainMarks
from tierscope.usecases.rebuild.samples import pack_samples

HOSTS = 17
SCRAPES = 100
STEP_MS = 15_000
REQUEST_SAMPLES = 2000
SENDERS = 2
Floats = npt.NDArray[np.float64]
SETTLE_SECONDS = 6.0
"""After the last answer: what a receiver still does in the background counts."""


@dataclass(frozen=True, slots=True)
class Stream:
    """Requests by sender, in order, and how many samples and series they hold."""

    requests: Sequence[Sequence[bytes]]
    samples: int
    series: int


@dataclass(frozen=True, slots=True)
class Used:
    """CPU seconds of one receiver by part."""

    parts: dict[str, float]
    elapsed: float
    stored_bytes: int

    def total(self, *names: str) -> float:
        """The sum of some parts."""
        return sum(self.parts[name] for name in names)


def measure() -> Section:
    """Measure all three in one run."""
    with tempfile.TemporaryDirectory(prefix="tierscope-bench-") as directory:
        stream = make_stream(Path(directory))
        ours = _measure_ours(stream)
        prometheus = _measure_other(stream, Path(directory) / "prometheus", _prometheus)
        victoria = _measure_other(stream, Path(directory) / "victoria", _victoria)
    per_million = 1e6 / stream.samples
    write_path = ours.total("service", "database", "packing", "database while packing")
    everything = sum(ours.parts.values())
    reference = prometheus.parts["receiver"]
    other = victoria.parts["receiver"]

    def seconds(value: float) -> str:
        return f"{value * per_million:.2f} s"

    rows = [
        Row(
            "Remote write, until each sample is packed in its hour",
            seconds(write_path),
            f"{seconds(reference)} (Prometheus)",
            write_path / reference,
            "at most 1",
            write_path <= reference,
        ),
        Row(
            "The same against VictoriaMetrics",
            seconds(write_path),
            f"{seconds(other)} (VictoriaMetrics)",
            write_path / other,
        ),
        *(Row(f"of it: {name}", seconds(ours.parts[name])) for name in _WRITE_PARTS),
        Row("Besides: ledger, metrics and packed counters of all hosts", seconds(everything - write_path)),
        Row(
            "Stored bytes per sample, packed",
            f"{ours.stored_bytes / stream.samples:.2f}",
            f"{victoria.stored_bytes / stream.samples:.2f} (VictoriaMetrics)",
        ),
    ]
    load = os.getloadavg()[0]
    return Section(
        title="CPU seconds per million samples of remote write",
        rows=rows,
        notes=[
            f"{stream.samples} samples of {stream.series} series: {HOSTS} node_exporters, {SCRAPES} scrapes.",
            f"Requests of {REQUEST_SAMPLES} samples over {SENDERS} connections; every series is kept by all three.",
            "Ours commits before it answers (fsync on); the other two answer before their data is synced.",
            "Neither of them makes a ledger; Prometheus' compaction, two hours later, is not in its figure.",
            f"Load average at the end of the run: {load:.1f}.",
        ],
    )


_WRITE_PARTS = ("service", "database", "packing", "database while packing")


def make_stream(folder: Path) -> Stream:
    """The requests of a fleet of node_exporters, the newest sample now."""
    import tierscope_simcore as core  # noqa: PLC0415 - built by `make simcore`

    printed = _printed_by_exporter(folder)
    rng = np.random.default_rng(7)
    end_ms = int(time.time() * 1000) // 1000 * 1000
    times = end_ms - STEP_MS * np.arange(SCRAPES - 1, -1, -1)
    requests: list[list[bytes]] = [[] for _ in range(SENDERS)]
    hosts = []
    for host in range(HOSTS):
        labels = [sorted({**one, "instance": f"node-{host:04}:9100", "job": "node"}.items()) for one, _ in printed]
        hosts.append((labels, _values(rng, [value for _, value in printed])))
    for sender in range(SENDERS):
        waiting: list[tuple[list[tuple[str, str]], npt.NDArray[np.int64], Floats]] = []
        for scrape in range(SCRAPES):
            at = times[scrape : scrape + 1].astype(np.int64)
            for labels, values in hosts[sender::SENDERS]:
                waiting += [(name, at, values[scrape, i : i + 1]) for i, name in enumerate(labels)]
                while len(waiting) >= REQUEST_SAMPLES:
                    requests[sender].append(core.write_request(waiting[:REQUEST_SAMPLES]))
                    waiting = waiting[REQUEST_SAMPLES:]
        if waiting:
            requests[sender].append(core.write_request(waiting))
    series = HOSTS * len(printed)
    return Stream(requests, series * SCRAPES, series)


def _printed_by_exporter(folder: Path) -> list[tuple[dict[str, str], float]]:
    """Names, labels and values that node_exporter prints of a recorded machine."""
    tree = unpack("04-pingpong", folder, step=200)
    (snapshot,) = (path for path in tree.iterdir() if path.name.isdigit())
    with exporter(folder, snapshot) as machine:
        printed = httpx.get(f"http://{machine.address}/metrics").text
    found = []
    for line in printed.splitlines():
        if line.startswith("#"):
            continue
        name, _, value = line.rpartition(" ")
        metric, _, inner = name.partition("{")
        labels = {"__name__": metric}
        for pair in inner.rstrip("}").split('",'):
            label, equals, text_value = pair.partition('="')
            if equals:
                labels[label] = text_value.rstrip('"')
        found.append((labels, float(value)))
    return found


def _values(rng: np.random.Generator, first: Sequence[float]) -> Floats:
    """[scrapes, series]: a third stand still, a third count up, a third move."""
    start = np.nan_to_num(np.array(first))
    kind = rng.integers(0, 3, len(start))
    steps = rng.integers(0, 5000, (SCRAPES, len(start))).astype(float)
    counting = start + np.cumsum(steps, axis=0)
    moving = np.round(start * (1 + 0.01 * rng.standard_normal((SCRAPES, len(start)))), 6)
    values: Floats = np.where(kind == 0, start, np.where(kind == 1, counting, moving))
    return values


def tree_cpu_seconds(root: int) -> float:
    """CPU time of a process and all below it, ended ones included."""
    ticks = os.sysconf("SC_CLK_TCK")
    parents: dict[int, int] = {}
    used: dict[int, tuple[int, int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        pid = int(path.parent.name)
        parents[pid] = int(fields[1])
        used[pid] = (int(fields[11]) + int(fields[12]), int(fields[13]) + int(fields[14]))
    total = 0
    for pid, (own, ended) in used.items():
        above = pid
        while above not in (root, 0, 1) and above in parents:
            above = parents[above]
        if above == root:
            total += own + ended
    return total / ticks


def send_all(address: str, path: str, requests: Sequence[Sequence[bytes]], headers: dict[str, str]) -> None:
    """Send the requests of each sender in order, all senders at once; every one is taken."""
    failures: list[str] = []

    def work(bodies: Sequence[bytes]) -> None:
        connection = http.client.HTTPConnection(address.removeprefix("http://"), timeout=60)
        for body in bodies:
            connection.request("POST", path, body, headers)
            answer = connection.getresponse()
            reason = answer.read()
            if answer.status // 100 != 2:
                failures.append(f"{answer.status} {reason[:300]!r}")
                return
        connection.close()

    threads = [threading.Thread(target=work, args=(bodies,)) for bodies in requests]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise RuntimeError(f"a request was not taken: {failures[0]}")


def _measure_ours(stream: Stream) -> Used:
    with running_cluster("native", durable=True) as cluster:
        url = cluster.url()
        upgrade(url)
        postmaster = _postmaster(url)
        with serving(url) as (address, pid), closing(Database(url)) as database:
            until(lambda: answers(f"{address}/healthz"), "the service answering", seconds=180)
            token = Access(database).create_api_token(role="operator", note="", lifetime=None, actor="bench").secret
            headers = HEADERS | {"Authorization": f"Bearer {token}"}
            before = tree_cpu_seconds(pid), tree_cpu_seconds(postmaster)
            start = time.perf_counter()
            send_all(address, "/api/v1/write", stream.requests, headers)
            elapsed = time.perf_counter() - start
            time.sleep(SETTLE_SECONDS)
            written = tree_cpu_seconds(pid), tree_cpu_seconds(postmaster)
            at = datetime.now(UTC) + timedelta(hours=2)
            own = time.process_time()
            _pack_all(database, at)
            packed = time.process_time(), tree_cpu_seconds(postmaster)
            DrainMarks(database, _Ahead(at)).run(at_most=timedelta(seconds=400))
            built = time.process_time(), tree_cpu_seconds(postmaster)
            stored = _stored_bytes(database)
    parts = {
        "service": written[0] - before[0],
        "database": written[1] - before[1],
        "packing": packed[0] - own,
        "database while packing": packed[1] - written[1],
        "ledger and metrics": built[0] - packed[0],
        "database while building": built[1] - packed[1],
    }
    return Used(parts, elapsed, stored)


class _Ahead:
    """A clock that goes on from a moment."""

    def __init__(self, at: datetime) -> None:
        self._ahead = at - datetime.now(UTC)

    def __call__(self) -> datetime:
        return datetime.now(UTC) + self._ahead


def _postmaster(url: str) -> int:
    """The process above all others of the server."""
    with psycopg.connect(libpq_url(url)) as connection:
        return int(Path(f"/proc/{connection.info.backend_pid}/stat").read_text().rpartition(")")[2].split()[1])


def _pack_all(database: Database, at: datetime) -> None:
    with database.read() as session:
        subjects = due_subjects(session, SAMPLES_PACK.kind, before=at, limit=10_000)
    for subject, service in subjects:
        with database.write() as transaction:
            claimed = claim(transaction, SAMPLES_PACK.kind, subject, service, before=at, limit=24)
            if claimed is not None:
                pack_samples(transaction, subject, claimed.buckets)


def _stored_bytes(database: Database) -> int:
    with database.read() as session:
        return int(session.execute(text("SELECT sum(octet_length(body)) FROM samples_packed")).scalar_one())


Receiver = Callable[[Path, int], tuple[list[str], str]]


def _prometheus(folder: Path, port: int) -> tuple[list[str], str]:
    config = folder / "prometheus.yml"
    config.write_text("global: {}\n")
    words = ["prometheus", f"--config.file={config}", f"--storage.tsdb.path={folder / 'tsdb'}"]
    words += ["--web.enable-remote-write-receiver", f"--web.listen-address=127.0.0.1:{port}", "--log.level=warn"]
    return words, "/api/v1/write"


def _victoria(folder: Path, port: int) -> tuple[list[str], str]:
    words = ["victoria-metrics", f"-storageDataPath={folder / 'data'}", f"-httpListenAddr=127.0.0.1:{port}"]
    return [*words, "-retentionPeriod=1"], "/api/v1/write"


def _measure_other(stream: Stream, folder: Path, receiver: Receiver) -> Used:
    folder.mkdir()
    port = free_port()
    words, path = receiver(folder, port)
    if shutil.which(words[0]) is None:
        raise RuntimeError(f"{words[0]} is not installed: apt install {words[0]}")
    with _process(words, folder / "log") as pid:
        address = f"http://127.0.0.1:{port}"
        until(lambda: answers(f"{address}/metrics"), f"{words[0]} answering", seconds=120)
        before, start = tree_cpu_seconds(pid), time.perf_counter()
        send_all(address, path, stream.requests, HEADERS)
        elapsed = time.perf_counter() - start
        time.sleep(SETTLE_SECONDS)
        used = tree_cpu_seconds(pid) - before
        _check_all_kept(address, stream.samples)
    stored = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and path.name != "log")
    return Used({"receiver": used}, elapsed, stored)


_TAKEN = ("prometheus_tsdb_head_samples_appended_total", 'vm_rows_inserted_total{type="promremotewrite"')


def _check_all_kept(address: str, samples: int) -> None:
    """The receiver took every sample: a measurement of one that drops some would say nothing."""
    lines = httpx.get(f"{address}/metrics", timeout=60).text.splitlines()
    taken = sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith(_TAKEN))
    if taken < samples:
        raise RuntimeError(f"{address} took {taken:.0f} of {samples} samples")


@contextmanager
def _process(words: Sequence[str], log: Path) -> Iterator[int]:
    with log.open("wb") as out:
        running = subprocess.Popen(words, stdout=out, stderr=subprocess.STDOUT)
        try:
            yield running.pid
        finally:
            running.terminate()
            running.wait(30)
