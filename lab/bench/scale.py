"""Several workers on one database: how much sooner the same roll-ups are done.

The load of a whole fleet over the wire is `tierscope loadgen`, which needs minutes: docs/operating/sizing.md.
"""

import subprocess
import sys
import time
from datetime import timedelta

from bench.figures import Row, Section
from factories.derived import day_before, send_counters
from factories.installations import enrol
from fixtures.servers import running_cluster
from tierscope.core.database import Database
from tierscope.domain.base.jobs import COUNTERS
from tierscope.storage.base.dirty_buckets import append
from tierscope.storage.base.schema import upgrade
from tierscope.storage.base.subjects import hosts_by_id

HOSTS = 60
MINUTES = range(1, 361)
_WORK = """
import sys
from datetime import timedelta
from tierscope.core.clock import utc_now
from tierscope.core.database import Database
from tierscope.usecases.rebuild.drain import DrainMarks
database = Database(sys.argv[1])
print("ready", flush=True)
sys.stdin.readline()
done = DrainMarks(database, utc_now).run(at_most=timedelta(minutes=5))
print(sum(done.buckets.values()), sum(done.failures.values()), flush=True)
"""


def measure() -> Section:
    """Rebuild the same hours of the same hosts by one, two and four worker processes."""
    with running_cluster("native", durable=True) as cluster:
        url = cluster.url()
        upgrade(url)
        database = Database(url)
        for number in range(HOSTS):
            send_counters(database, enrol(database, name=f"node-{number}"), day_before(), MINUTES)
        _run(url, 1)
        took = {}
        for processes in (1, 2, 4):
            _mark(database)
            took[processes] = _run(url, processes)
        database.close()
    rows = [
        Row(f"{count} worker processes", f"{seconds:.1f} s", f"{took[1]:.1f} s", took[1] / seconds)
        for count, seconds in took.items()
    ]
    return Section(
        title="Scale: the same roll-ups by several workers",
        rows=rows,
        notes=[
            f"{HOSTS} hosts x {len(MINUTES) // 60} h of minutes, their closed buckets of ten minutes.",
            "The reference is one worker process; PostgreSQL runs on the same cores. The ratio is the speed-up.",
        ],
    )


def _mark(database: Database) -> None:
    buckets = [day_before() + timedelta(minutes=10 * place) for place in range(len(MINUTES) // 10)]
    with database.write() as transaction:
        for host in hosts_by_id(transaction, list(range(1, HOSTS + 1))):
            append(transaction, COUNTERS.kind, host.id, 0, buckets)


def _run(url: str, count: int) -> float:
    """Seconds until so many processes have nothing left to do."""
    command = [sys.executable, "-c", _WORK, url]
    processes = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(count)
    ]
    for process in processes:
        assert process.stdout is not None
        process.stdout.readline()
    start = time.perf_counter()
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in processes:
        assert process.stdout is not None
        _, failures = process.stdout.readline().split()
        assert failures == "0"
        process.wait()
    return time.perf_counter() - start
