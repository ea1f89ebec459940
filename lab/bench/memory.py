"""Memory of the API for requests that ask for much, and how long /healthz waits beside them.

The service is a process of its own on a real database. Its peak (VmHWM) is set back before each request.
"""

from contextlib import closing

from bench.figures import Row, Section
from bench.ingest import serving
from bench.memory_watch import MOST_BYTES, Cost, measure_costs
from factories.hostile_requests import hostile_requests
from factories.installations import enrol
from fixtures.servers import running_cluster
from tierscope.core.database import Database
from tierscope.storage.base.schema import upgrade
from tierscope.usecases.access.tokens import Access

_MIB = 1 << 20


def measure() -> Section:
    """Send every request once."""
    with running_cluster("native") as cluster:
        url = cluster.url()
        upgrade(url)
        with serving(url) as (address, pid), closing(Database(url)) as database:
            host = enrol(database)
            token = Access(database).create_api_token(role="operator", note="", lifetime=None, actor="bench").secret
            requests = hostile_requests(host_id=host.id, credential=host.credential, token=token)
            rows = [_row(cost) for cost in measure_costs(address, pid, requests)]
    return Section(
        title="Peak memory of the API above idle, by request",
        rows=rows,
        is_bound=True,
        notes=[
            "Above what the service had just before; kept is what it has more since the first, at most 128 MiB of all.",
            "Uploaded traces are read in a process of their own, which has a limit set by the kernel.",
        ],
    )


def _row(cost: Cost) -> Row:
    answers = ", ".join(str(status) for status in cost.statuses)
    memory = f"{cost.above_idle_bytes / _MIB:.1f} MiB (kept {cost.kept_bytes / _MIB:.1f})"
    said = f"{memory}, {cost.seconds:.2f} s; /healthz {cost.longest_wait_seconds * 1e3:.0f} ms"
    return Row(f"{cost.name}: {answers}", said, target=f"at most {MOST_BYTES // _MIB} MiB", met=cost.problem is None)
