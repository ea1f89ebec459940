"""Page samples of a service as traces of its hosts: which blocks are taken, whether they are enough, how they scale."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from tierscope.core.database import ReadSession
from tierscope.domain.base.figures import Window
from tierscope.domain.curve.sample_blocks import SampledPages
from tierscope.domain.curve.trace_samples import MIN_PAGES
from tierscope.domain.heat.rows import BACKENDS, HeatSeries, Method
from tierscope.domain.simulate.sampled import RatedBlock, SampledTrace, join_sampled
from tierscope.storage.curve.page_samples import SampleHead, hosts_with_samples, list_samples, read_samples
from tierscope.usecases.curve.pages import MIN_INTERVALS, NOT_SAMPLED, resident_by_kind
from tierscope.usecases.curve.sources import TOUCHED_ONLY, choose_sampled_method, spread_hosts
from tierscope.usecases.heat.sources import read_heat

MAX_HOSTS = 16
MIN_TOUCHED = 1000
"""Fewer pages with accesses, summed over intervals, say nothing of a placement."""
MAX_TOUCHED = 10_000_000
"""Of all hosts together: a worker needs about 100 bytes for each while traces are made."""
NS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class ChosenSamples:
    """Heads of the blocks to replay, by host, all of one method. `dropped_hosts`: sampled ones that were left out."""

    method: Method
    heads: Mapping[int, tuple[SampleHead, ...]]
    counts: bool
    dropped_hosts: int
    others: tuple[str, ...]

    @property
    def touched(self) -> int:
        """Pages with accesses, summed over intervals: what one replay works through."""
        return sum(head.n_rows for some in self.heads.values() for head in some)

    @property
    def interval_s(self) -> float:
        """Length of an interval."""
        return self.method.interval_ns / NS

    def missing(self) -> str | None:
        """What the samples lack, None where there is enough to replay."""
        if not self.heads:
            return NOT_SAMPLED
        pages = max(max(head.n_pages for head in some) for some in self.heads.values())
        intervals = max(sum({head.end_us: head.n_intervals for head in some}.values()) for some in self.heads.values())
        if pages < MIN_PAGES:
            return f"{pages} sampled pages: {MIN_PAGES} are needed."
        if intervals < MIN_INTERVALS:
            return f"{intervals} sampled intervals: {MIN_INTERVALS} are needed."
        if self.touched < MIN_TOUCHED:
            return f"{self.touched} sampled pages with accesses over all intervals: {MIN_TOUCHED} are needed."
        return None


def choose_samples(
    session: ReadSession,
    service_id: int,
    window: Window,
    *,
    host_id: int | None = None,
    most_hosts: int = MAX_HOSTS,
    most_touched: int | None = None,
) -> ChosenSamples | None:
    """The blocks of the method that tells most, None where there are none.

    `most_touched`: the newest blocks of each host that hold so many touched pages together; None for all.
    """
    there = hosts_with_samples(session, service_id, window.start, window.end)
    wanted = [host for host in there if host_id in (None, host)]
    hosts = spread_hosts(wanted, most_hosts)
    heads = list_samples(session, service_id, window.start, window.end, hosts) if hosts else []
    method = choose_sampled_method(heads, None)
    if method is None:
        return None
    by_host: dict[int, list[SampleHead]] = defaultdict(list)
    for head in heads:
        if head.method == method:
            by_host[head.host_id].append(head)
    if most_touched is not None:
        by_host = {host: newest_blocks(some, most_touched // len(by_host)) for host, some in by_host.items()}
    return ChosenSamples(
        method=method,
        heads={host: tuple(some) for host, some in by_host.items()},
        counts=next(iter(by_host.values()))[0].counts,
        dropped_hosts=len(wanted) - len(by_host),
        others=tuple(sorted({BACKENDS[head.method.backend] for head in heads if head.method != method})),
    )


def newest_blocks(heads: Sequence[SampleHead], most_touched: int) -> list[SampleHead]:
    """The newest blocks that hold at most so many touched pages, those of one time together; one time at least."""
    found: list[SampleHead] = []
    ends = sorted({head.end_us for head in heads}, reverse=True)
    for end in ends:
        some = [head for head in heads if head.end_us == end]
        if found and sum(head.n_rows for head in (*found, *some)) > most_touched:
            break
        found += some
    return found[::-1]


def read_traces(
    session: ReadSession,
    service_id: int,
    chosen: ChosenSamples,
    window: Window,
    *,
    now: datetime,
    beat: Callable[[], None] = lambda: None,
) -> dict[int, SampledTrace]:
    """The trace of each host; hosts whose blocks have left the store meanwhile are left out.

    `beat` is called after each host, and may raise to give up.
    """
    sampler = chosen.method.is_sampler
    heat: Mapping[int, HeatSeries] = {}
    if sampler:
        heat = read_heat(session, service_id, list(chosen.heads), window, now=now).get(chosen.method, {})
    found = {}
    for host, heads in chosen.heads.items():
        blocks = [rate_block(head, pages) for head, pages in read_samples(session, service_id, heads)]
        resident = resident_by_kind(heat[host])[1:] if host in heat else None
        try:
            found[host] = join_sampled(
                blocks,
                interval_ns=chosen.method.interval_ns,
                loads_only=sampler,
                stay_resident=BACKENDS[chosen.method.backend] in TOUCHED_ONLY,
                resident_bytes=None if resident is None else resident.tolist(),
            )
        except ValueError:
            continue  # nothing of this host is there any more, or nothing of it was observed
        beat()
    return found


def rate_block(head: SampleHead, pages: SampledPages) -> RatedBlock:
    """A block with the rates at which it was sampled."""
    events = (head.period_events or 1.0) / (head.duty_ratio or 1.0)
    return RatedBlock(head.group, head.end_us, head.sampled_ratio, events, pages)
