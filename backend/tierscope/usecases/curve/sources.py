"""Where the curve of a window comes from: blocks of page samples, reduced once each and joined by page and host."""

import threading
import weakref
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from tierscope.core.cache import StoredCache
from tierscope.core.database import ReadSession
from tierscope.domain.base.figures import Window
from tierscope.domain.curve.page_samples import (
    HostSample,
    PageCounts,
    SampledBlock,
    count_block,
    join_blocks,
    join_groups,
)
from tierscope.domain.curve.sample_blocks import SampledPages
from tierscope.domain.heat.rows import BACKENDS, PREFERENCE, Method
from tierscope.storage.curve.page_samples import SampleHead, hosts_with_samples, list_samples, read_samples

MAX_HOSTS = 32
"""Hosts that one curve is made of; of more, evenly spaced ones by number are taken."""
MAX_BLOCKS = 512
"""Blocks that one curve is made of; of more, every so many hours are left out on all hosts."""
CLAIM_INTERVALS = 60
"""A back end that counts accesses is preferred to one that tells active from idle if it has so many intervals."""
_HOUR_US = 3_600_000_000
_CACHED_BYTES = 96 << 20
_CACHED_HOSTS_BYTES = 48 << 20
# Every so many hours: none of these shares a factor with 24, so that all hours of the day are met.
_STRIDES = (1, 5, 7, 11, 13, 17, 19, 23, 25, 29, 31, 35, 37, 41, 43, 47)
TOUCHED_ONLY = frozenset({"pebs", "ibs", "spe", "trace"})
"""Back ends that list pages with accesses alone: when such a page is freed is not known."""


@dataclass(frozen=True, slots=True)
class CurveSamples:
    """Page samples of a window by one method. `counts`: accesses; else active intervals of pages.

    `exact`: every page and every access is in it. `coverage`: observed intervals of those between a host's first and
    last, the mean over hosts. `hosts` are by number. `start_us` and `end_us`: first and last instant of any block.
    """

    method: Method
    counts: bool
    exact: bool
    sampled_ratio: float
    coverage: float
    hosts: dict[int, HostSample]
    start_us: int
    end_us: int
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FoundSamples:
    """What there is in a window: the samples of the method chosen, and the names of others."""

    samples: CurveSamples | None
    others: tuple[str, ...]


def read_curve_samples(
    session: ReadSession,
    service_id: int,
    window: Window,
    *,
    host_ids: Sequence[int] | None = None,
    method: str | None = None,
) -> FoundSamples:
    """Page samples of the service; `host_ids` None for all its hosts, `method` a family or back end."""
    there = hosts_with_samples(session, service_id, window.start, window.end)
    hosts = [host for host in there if host_ids is None or host in host_ids]
    notes = []
    if len(hosts) > MAX_HOSTS:
        notes.append(f"{MAX_HOSTS} of {len(hosts)} hosts with page samples were taken.")
        hosts = spread_hosts(hosts)
    heads = list_samples(session, service_id, window.start, window.end, hosts) if hosts else []
    chosen = choose_sampled_method(heads, method)
    others = tuple(sorted({BACKENDS[head.method.backend] for head in heads if head.method != chosen}))
    if chosen is None:
        return FoundSamples(None, others)
    some, stride = _thin_out([head for head in heads if head.method == chosen])
    if stride > 1:
        notes.append(f"One hour in {stride} was taken: the window holds more page samples than one answer reads.")
    return FoundSamples(_join(session, service_id, some, chosen, stride, tuple(notes)), others)


def spread_hosts(hosts: Sequence[int], most: int = MAX_HOSTS) -> list[int]:
    """At most so many of the hosts, evenly spaced in their order."""
    if len(hosts) <= most:
        return list(hosts)
    return [hosts[i * len(hosts) // most] for i in range(most)]


def choose_sampled_method(heads: Sequence[SampleHead], wanted: str | None) -> Method | None:
    """The method asked for, else one that counts accesses for an hour or longer, else that with most intervals."""
    intervals: dict[Method, int] = defaultdict(int)
    counting = set()
    for head in heads:
        if wanted in (None, head.method.family, BACKENDS[head.method.backend]):
            intervals[head.method] += head.n_intervals
            if head.counts:
                counting.add(head.method)

    def rank(method: Method) -> tuple[bool, int, int]:
        telling = method in counting and intervals[method] >= CLAIM_INTERVALS
        place = PREFERENCE.index(method.backend) if method.backend in PREFERENCE else len(PREFERENCE)
        return telling, intervals[method], -place

    return max(intervals, key=rank, default=None)


def _thin_out(heads: Sequence[SampleHead]) -> tuple[list[SampleHead], int]:
    """At most about `MAX_BLOCKS` blocks: all of every so many hours."""
    needed = -(-len(heads) // MAX_BLOCKS)
    stride = next((stride for stride in _STRIDES if stride >= needed), _STRIDES[-1])
    if stride == 1:
        return list(heads), 1
    newest = max(head.end_us for head in heads)
    return [head for head in heads if (newest // _HOUR_US - (head.end_us - 1) // _HOUR_US) % stride == 0], stride


def _join(
    session: ReadSession,
    service_id: int,
    heads: Sequence[SampleHead],
    method: Method,
    stride: int,
    notes: tuple[str, ...],
) -> CurveSamples:
    kept = _kept_for(session)
    by_host: dict[int, list[SampleHead]] = defaultdict(list)
    for head in heads:
        by_host[head.host_id].append(head)
    joined = {host: kept.hosts.get((service_id, tuple(some))) for host, some in by_host.items()}
    missing = [head for host, some in by_host.items() if joined[host] is None for head in some]
    blocks = _reduce(session, service_id, missing, kept.blocks)
    hosts = {}
    for host, some in by_host.items():
        sample = joined[host]
        if sample is None:
            sample = _join_host(some, blocks, stay_resident=BACKENDS[method.backend] in TOUCHED_ONLY)
            if sample is None:
                continue
            kept.hosts.put((service_id, tuple(some)), sample, generation=session.generation)
        hosts[host] = sample
    return _describe(heads, by_host, hosts, method, stride, notes)


def join_recorded(blocks: Sequence[tuple[SampleHead, SampledPages]]) -> CurveSamples:
    """Blocks of one host that lie in no store, by one method that counts every access of a page."""
    heads = [head for head, _ in blocks]
    method = heads[0].method
    counted = {
        head: count_block(pages, end_us=head.end_us, interval_ns=method.interval_ns, loads_only=method.is_sampler)
        for head, pages in blocks
    }
    sample = _join_host(heads, counted, stay_resident=BACKENDS[method.backend] in TOUCHED_ONLY)
    hosts = {} if sample is None else {heads[0].host_id: sample}
    return _describe(heads, {heads[0].host_id: heads}, hosts, method, 1, ())


def _describe(
    heads: Sequence[SampleHead],
    by_host: dict[int, list[SampleHead]],
    hosts: dict[int, HostSample],
    method: Method,
    stride: int,
    notes: tuple[str, ...],
) -> CurveSamples:
    counts = heads[0].counts
    ratios = [head.sampled_ratio for head in heads]
    sampled = any(head.period_events is not None for head in heads)
    return CurveSamples(
        method=method,
        counts=counts,
        exact=counts and not sampled and min(ratios) >= 1.0,
        sampled_ratio=sum(ratio * head.n_pages for ratio, head in zip(ratios, heads, strict=True))
        / max(sum(head.n_pages for head in heads), 1),
        coverage=_coverage(by_host, hosts, stride),
        hosts=hosts,
        start_us=min(head.end_us - head.n_intervals * method.interval_ns // 1000 for head in heads),
        end_us=max(head.end_us for head in heads),
        notes=notes,
    )


def _reduce(
    session: ReadSession, service_id: int, heads: Sequence[SampleHead], kept: StoredCache[object, PageCounts]
) -> dict[SampleHead, PageCounts]:
    """What the pages of each block did; bodies are read only of blocks that are not kept in memory."""
    found = {head: counts for head in heads if (counts := kept.get((service_id, head))) is not None}
    for head, block in read_samples(session, service_id, [head for head in heads if head not in found]):
        counts = count_block(
            block, end_us=head.end_us, interval_ns=head.method.interval_ns, loads_only=head.method.is_sampler
        )
        kept.put((service_id, head), counts, generation=session.generation)
        found[head] = counts
    return found


def _join_host(
    heads: Sequence[SampleHead], blocks: dict[SampleHead, PageCounts], *, stay_resident: bool
) -> HostSample | None:
    groups: dict[str, list[SampledBlock]] = defaultdict(list)
    for head in heads:
        if head in blocks:
            events = (head.period_events or 1.0) / (head.duty_ratio or 1.0)
            groups[head.group].append(SampledBlock(blocks[head], head.sampled_ratio, events))
    if not groups:
        return None
    return join_groups([join_blocks(some) for some in groups.values()], stay_resident=stay_resident)


def _coverage(heads: dict[int, list[SampleHead]], hosts: dict[int, HostSample], stride: int) -> float:
    """Observed intervals of the possible ones: from a host's first block to its last; of listed hours where thinned."""
    shares = []
    for host, sample in hosts.items():
        some = heads[host]
        blocks = {head.end_us: head.n_intervals for head in some}
        possible = float(sum(blocks.values()))
        if stride == 1:
            first, last = min(blocks), max(blocks)
            possible = (last - first) * 1000 / some[0].method.interval_ns + blocks[first]
        shares.append(min(sample.n_intervals / max(possible, 1.0), 1.0))
    return sum(shares) / len(shares) if shares else 0.0


@dataclass(frozen=True, slots=True)
class _Keeper:
    blocks: StoredCache[object, PageCounts]
    hosts: StoredCache[object, HostSample]


_keepers: "weakref.WeakKeyDictionary[object, _Keeper]" = weakref.WeakKeyDictionary()
_keepers_lock = threading.Lock()


def _kept_for(session: ReadSession) -> _Keeper:
    with _keepers_lock:
        keeper = _keepers.get(session.connection.engine)
        if keeper is None:
            keeper = _Keeper(
                StoredCache(_CACHED_BYTES, size_of=lambda block: block.nbytes),
                StoredCache(_CACHED_HOSTS_BYTES, size_of=lambda sample: sample.nbytes),
            )
            _keepers[session.connection.engine] = keeper
        return keeper
