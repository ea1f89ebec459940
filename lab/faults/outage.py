"""An outage of the service, compressed: our agent and vmagent scrape counters that are known, and nothing else differs.

An hour at one sample a minute becomes a minute at one sample a second. In the middle of the outage both collectors are
killed with SIGKILL and started again, but for one case. Both queue on disk, within a limit.
"""

import contextlib
import dataclasses
import random
import secrets
import shutil
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Protocol

from factories.loopback import LOOPBACK, KeepAliveHandler, free_port, listening
from factories.waiting import DEADLINE_SECONDS, NeverHappenedError, until
from faults.oracle import judge
from faults.processes import Agent, Program, clean_env
from faults.proxy import Proxy, Weather, proxying
from faults.remote_write import Receiver, receiving
from faults.scene import let_pass
from faults.stage import NotHereError, Stage
from fixtures.shifted_clock import offset_s

METRIC = "probe_scrapes_total"


@dataclass(frozen=True, slots=True)
class Case:
    """What happens besides the outage."""

    title: str
    answers_lost: bool
    """Before the network breaks, answers are lost for some seconds: the receiver stores, the sender never hears."""
    killed: bool
    """Whether the collectors are killed in the middle."""


CUT = Case("the network breaks", answers_lost=False, killed=False)
CUT_AND_KILLED = Case("the network breaks; SIGKILL", answers_lost=False, killed=True)
ANSWERS_LOST_AND_KILLED = Case(
    "for two seconds answers are lost before the network breaks; SIGKILL", answers_lost=True, killed=True
)
CASES = (CUT, CUT_AND_KILLED, ANSWERS_LOST_AND_KILLED)
_LOSE_SECONDS = 2.0
_DOWN_SECONDS = 1.0
QUIET_SECONDS = 70.0
"""So long after the last arrival nothing more is waited for: vmagent's senders try again once a minute at least."""
_OWN_SPOOL_MIB = 1
_VMAGENT_DISK = "500MB"  # its least
_MILLI = 1000


@dataclass(frozen=True, slots=True)
class Loss:
    """What became of a collector's samples."""

    collector: str
    case: str
    scraped: int
    stored: int
    lost: int
    delivered_again: int
    stored_twice: str
    """A number, or why there is none."""

    @property
    def counts_twice(self) -> bool:
        """Whether the store holds a sample twice."""
        return self.stored_twice.isdecimal() and int(self.stored_twice) > 0


@dataclass(slots=True)
class Target:
    """A counter that goes up by one with each scrape that is answered."""

    port: int = 0
    answered: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)


@contextmanager
def target() -> Iterator[Target]:
    """A target on a free port."""
    made = Target()

    class Handler(KeepAliveHandler):
        def do_GET(self) -> None:  # noqa: N802 - the name is the base class's
            with made.lock:
                number = made.answered + 1
                body = f"# TYPE {METRIC} counter\n{METRIC} {number}\n".encode()
                self.send_response(200)
                self.send_header("Content-Type", "text/plain; version=0.0.4")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)
                made.answered = number

    with listening(Handler) as made.port:
        yield made


class Side(Protocol):
    """A collector with its target and its line to the receiver."""

    name: str
    target: Target
    proxy: Proxy

    @property
    def program(self) -> Program:
        """The collector's process."""

    def has_begun(self) -> bool:
        """Whether it is known at the receiver."""

    def notices_lost_answers(self) -> bool:
        """Whether an answer about samples that were stored was lost, where that can be known."""

    def has_emptied_its_queue(self) -> bool | None:
        """Whether nothing waits on its disk; None where it does not say."""

    def stored(self) -> Counter[int]:
        """How often each value arrived to stay."""

    def judge(self) -> tuple[int, str]:
        """How many deliveries were repeats, and how many samples are stored twice."""


@dataclass(slots=True)
class VmagentSide:
    """vmagent and a receiver of remote write."""

    program: Program
    target: Target
    proxy: Proxy
    receiver: Receiver
    name: str = "vmagent"

    def has_begun(self) -> bool:
        """It needs no introduction."""
        return True

    def notices_lost_answers(self) -> bool:
        """Nothing is asked of it."""
        return True

    def has_emptied_its_queue(self) -> bool | None:
        """It keeps that to itself."""
        return None

    def stored(self) -> Counter[int]:
        """Each arrival."""
        with self.receiver.lock:
            return Counter(self.receiver.arrivals)

    def judge(self) -> tuple[int, str]:
        """Remote write has no number by which a receiver could know a repeat: it is up to the store."""
        return sum(count - 1 for count in self.stored().values()), "up to the receiver"


@dataclass(slots=True)
class OwnSide:
    """Our agent and the real service."""

    program: Agent
    target: Target
    proxy: Proxy
    stage: Stage
    name: str = "tierscope-agent"

    def has_begun(self) -> bool:
        """Once it has enrolled."""
        return self.program.has_delivered()

    def notices_lost_answers(self) -> bool:
        """By the answers on its line."""
        return self.proxy.tap.unheard > 0

    def has_emptied_its_queue(self) -> bool | None:
        """By its own word."""
        return int(self.program.status().get("spool", {}).get("batches", 1)) == 0

    def stored(self) -> Counter[int]:
        """What the agent read from the target, in rows of the store."""
        sql = (
            "SELECT v.value FROM counters_live c JOIN hosts h ON h.id = c.host_id JOIN layouts l ON l.id = c.layout_id"
            " CROSS JOIN LATERAL unnest(l.keys, c.vals) AS v(key, value)"
            " WHERE h.public_id = %s AND v.key LIKE '%%|throughput_total_milli' AND v.value IS NOT NULL"
        )
        with self.stage.database.read() as session:
            rows = session.driver.execute(sql.encode(), (self.program.host_id,)).fetchall()
        return Counter(int(value) // _MILLI for (value,) in rows)

    def judge(self) -> tuple[int, str]:
        """By the number of each batch."""
        self.proxy.change(Weather(requests="hold"))
        verdict = judge(self.proxy.tap, self.stage.cluster.url(), {self.program.host_id})
        return verdict.deliveries - verdict.sent, str(verdict.stored_twice)


def vmagent_program(folder: Path, scraped: Target, proxy: Proxy) -> Program:
    """Vmagent with a queue on disk."""
    binary = shutil.which("vmagent")
    if binary is None:
        raise NotHereError("vmagent is not installed (Debian: victoria-metrics)")
    if offset_s():
        raise NotHereError("vmagent keeps the machine's clock, and this run tells another time")
    settings = folder / "scrape.yaml"
    settings.write_text(
        "global: {scrape_interval: 1s, scrape_timeout: 1s}\n"
        f"scrape_configs: [{{job_name: probe, static_configs: [{{targets: ['{LOOPBACK}:{scraped.port}']}}]}}]\n"
    )
    command = [
        binary,
        f"-promscrape.config={settings}",
        f"-remoteWrite.url={proxy.url}/api/v1/write",
        f"-remoteWrite.tmpDataPath={folder / 'queue'}",
        f"-remoteWrite.maxDiskUsagePerURL={_VMAGENT_DISK}",
        f"-httpListenAddr={LOOPBACK}:{free_port()}",
        "-memory.allowedBytes=64MB",
        "-loggerLevel=ERROR",
    ]
    return Program("vmagent", command, clean_env(), folder / "vmagent.log")


def own_agent(stage: Stage, scraped: Target, proxy: Proxy) -> Agent:
    """Our agent, which reads the target as what a service says of itself."""
    more = (
        f'[[service_metrics]]\nservice = "probe/app"\nurl = "http://{LOOPBACK}:{scraped.port}/metrics"\n'
        f'throughput = "{METRIC}"\ntimeout_ms = 2000'
    )
    place = dataclasses.replace(stage.place(), server=proxy.url, spool_mib=_OWN_SPOOL_MIB, more=more)
    return stage.add_agent(f"outage-{secrets.token_hex(4)}", place)


def run_case(
    stage: Stage, case: Case, *, outage_seconds: float, seed: int, quiet_seconds: float = QUIET_SECONDS
) -> list[Loss]:
    """Both collectors through the same outage at the same time."""
    rng = random.Random(f"{case.title}-{seed}")  # noqa: S311 - no secret
    with ExitStack() as stack:
        folder = stage.folder / f"vmagent-{secrets.token_hex(4)}"
        folder.mkdir()
        receiver = stack.enter_context(receiving(METRIC))
        targets = [stack.enter_context(target()) for _ in range(2)]
        proxies = [stack.enter_context(proxying(port)) for port in (stage.api.port, receiver.port)]
        sides: list[Side] = [
            OwnSide(own_agent(stage, targets[0], proxies[0]), targets[0], proxies[0], stage),
            VmagentSide(vmagent_program(folder, targets[1], proxies[1]), targets[1], proxies[1], receiver),
        ]
        for side in sides:
            stack.callback(side.program.kill)
            side.program.start()
        for side in sides:
            until(partial(_delivers, side), f"{side.name} delivers")
        _outage(sides, case, outage_seconds, rng)
        ends = [side.target.answered for side in sides]
        return [_drain(side, case, last, quiet_seconds) for side, last in zip(sides, ends, strict=True)]


def _delivers(side: Side) -> bool:
    return side.has_begun() and len(side.stored()) >= 3


def _outage(sides: Sequence[Side], case: Case, outage_seconds: float, rng: random.Random) -> None:
    end = time.monotonic() + outage_seconds
    if case.answers_lost:
        for side in sides:
            side.proxy.change(Weather(answers="lose"))
        let_pass(_LOSE_SECONDS)
        for side in sides:
            until(side.notices_lost_answers, f"{side.name} does not hear that its samples are stored")
    for side in sides:
        side.proxy.change(Weather(cut=True))
    if case.killed:
        let_pass(outage_seconds * rng.uniform(0.4, 0.7))
        for side in sides:
            side.program.kill()
        let_pass(_DOWN_SECONDS)
        for side in sides:
            side.program.start()
    let_pass(max(0.0, end - time.monotonic()))
    for side in sides:
        side.proxy.change(Weather())


def _drain(side: Side, case: Case, last: int, quiet_seconds: float) -> Loss:
    """Waits until the scrapes up to `last` have arrived, or nothing more of them comes."""
    quiet_since, known = time.monotonic(), -1

    def is_over() -> bool:
        nonlocal quiet_since, known
        # First what it says of its queue: what it had delivered by then is in the store when that is read.
        empty = side.has_emptied_its_queue()
        there = side.stored()
        arrived = sum(1 for value in there if value <= last)
        if arrived != known:
            known, quiet_since = arrived, time.monotonic()
        is_past = any(value > last for value in there)
        is_quiet = time.monotonic() - quiet_since > quiet_seconds
        return arrived == last or (is_past and is_quiet and empty is not False)

    with contextlib.suppress(NeverHappenedError):  # what has not arrived by then is lost
        until(is_over, f"{side.name} delivers what it queued", seconds=DEADLINE_SECONDS)
    delivered_again, stored_twice = side.judge()
    return Loss(side.name, case.title, last, known, last - known, delivered_again, stored_twice)
