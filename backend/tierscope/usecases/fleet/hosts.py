"""Reads of hosts: the list, and everything known of one host now."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Annotated, cast, get_args

from tierscope.core.database import ReadSession
from tierscope.core.errors import BadRequest
from tierscope.domain.base.described import Described
from tierscope.domain.base.figures import Figure, Origin
from tierscope.domain.counters.packing import Block
from tierscope.domain.fleet.host_facts import HostSort, late_before, silent_before
from tierscope.domain.fleet.hosts_away import HostsAway
from tierscope.domain.fleet.node_state import NodeInfo, describe_nodes
from tierscope.domain.fleet.pods import PodsState
from tierscope.domain.fleet.settings import choices, selected
from tierscope.storage.counters.rows import read_block
from tierscope.storage.fleet.causes import CauseKind
from tierscope.storage.fleet.hosts import (
    CauseOf,
    HostCounts,
    HostFilter,
    HostOrder,
    HostRow,
    HostService,
    count_hosts,
    list_hosts,
    newest_self_report,
    sort_hosts,
)
from tierscope.storage.fleet.pods import read_pods_state
from tierscope.storage.nodes.counts import read_hosts_away
from tierscope.usecases.base.context import ContextUseCase
from tierscope.usecases.base.hardware import Hardware, read_hardware
from tierscope.usecases.base.subjects import decode_cursor, encode_cursor, require_host
from tierscope.usecases.fleet.agent_plans import read_pause_state
from tierscope.usecases.fleet.headlines import describe_host
from tierscope.usecases.fleet.host_agent import AgentInfo, CollectorInfo, view_agent, view_collectors
from tierscope.usecases.fleet.host_summaries import HostSummary, Summarised, list_summaries, summarise
from tierscope.usecases.fleet.limits import limits_at
from tierscope.usecases.fleet.tags import read_tagged

SELF_REPORT_SPAN = timedelta(days=1)
NEWEST_SAMPLE_SPAN = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class KnobInfo:
    """A kernel setting as it stands. Value null with a reason where it cannot be read or does not exist."""

    path: str
    value: str | None
    choices: Annotated[
        tuple[str, ...], Described("What the kernel offers; empty where its file holds the value alone.")
    ]
    unavailable: str | None


@dataclass(frozen=True, slots=True)
class SwapInfo:
    """A swap device."""

    name: str
    kind: str
    size_bytes: int
    used_bytes: int
    priority: int
    zoned: str | None
    discard: bool | None
    rotational: bool | None


@dataclass(frozen=True, slots=True)
class HostDetail:
    """Everything that is known of one host now."""

    summary: HostSummary
    headline: str
    architecture: str | None
    cpu_model: str | None
    cpus_online: int | None
    page_size_bytes: Annotated[
        int | None, Described("Of a base page, in which its kernel counts; null where nothing that it sends tells it.")
    ]
    cgroup_version: str | None
    boot_id: str | None
    inventory_at: datetime | None
    nodes: tuple[NodeInfo, ...]
    knobs: tuple[KnobInfo, ...]
    collectors: tuple[CollectorInfo, ...]
    services: tuple[HostService, ...]
    pods: Annotated[PodsState | None, Described("Null for a host without pods of a Kubernetes cluster.")]
    swaps: tuple[SwapInfo, ...]
    agent_rss_bytes: Figure
    agent_cpu_ratio: Figure
    hardware: Hardware
    agent: AgentInfo
    clock_skew_seconds: float | None


@dataclass(frozen=True, slots=True)
class HostPage:
    """One page of hosts, in a stable order. `next_cursor` is null on the last page."""

    __qualname__ = "Page_HostSummary_"  # the schema's name, which programs rely on

    items: tuple[HostSummary, ...]
    next_cursor: str | None
    fleet: Annotated[HostCounts, Described("All hosts, whatever was asked for.")]
    matching: Annotated[int, Described("Hosts that were asked for, on all pages.")]
    away: Annotated[HostsAway, Described("Hosts that no page holds, whatever was asked for.")]


class HostReads(ContextUseCase):
    """Reads of hosts."""

    def list(
        self,
        *,
        limit: int,
        cursor: str | None,
        state: str | None,
        service: str | None,
        origin: Origin | None,
        labels: Sequence[str],
        enrolled_since: datetime | None = None,
        hosts: Sequence[str] | None = None,
        words: str = "",
        cause: str | None = None,
        tags: Sequence[str] = (),
        sort: HostSort = "name",
        descending: bool = False,
    ) -> HostPage:
        """Hosts by name, then id; or in another order, which may change between two pages, as hosts do.

        Raises:
            BadRequest: a label or tag is not `key=value`, a cause not `kind:key`, or the cursor is not one of ours.
        """
        now = self._context.clock()
        wanted = replace(
            _filter(now, state=state, service=service, origin=origin, labels=labels),
            enrolled_since=enrolled_since,
            public_ids=None if hosts is None else tuple(hosts),
            words=tuple(words.lower().split()),
            cause=None if cause is None else _cause(cause),
        )
        limits = limits_at(now)
        order = HostOrder(sort, descending, limits)
        with self._context.database.read() as session:
            tagged = read_tagged(session, tags)
            wanted = wanted if tagged is None else replace(wanted, ids=tagged.hosts)
            if _by_name(wanted, order):
                rows, following = _page_by_name(session, wanted, cursor, limit)
            else:
                rows, following = _page(session, wanted, order, cursor, limit)
            items = list_summaries(session, rows, now=now)
            fleet, matching = count_hosts(session, HostFilter(), limits), count_hosts(session, wanted, limits)
            away = read_hosts_away(session)
        return HostPage(tuple(items), following, fleet, matching.hosts, away)

    def detail(self, public_id: str) -> HostDetail:
        """Everything known of one host now.

        Raises:
            NotFound: there is no such host.
        """
        now = self._context.clock()
        with self._context.database.read() as session:
            row = require_host(session, public_id)
            host = summarise(session, [row], now=now)[0]
            block = _newest(session, row)
            report = newest_self_report(session, row.id, since=(row.last_seen_at or now) - SELF_REPORT_SPAN)
            pause = read_pause_state(session, row.id)
            pods = read_pods_state(session, row.id)
        body, agent = host.inventory or {}, view_agent(report, pause, held_seconds=row.held_seconds)
        return HostDetail(
            summary=host.summary,
            headline=describe_host(host, now=now, pause=pause),
            architecture=_text(body.get("architecture")),
            cpu_model=_text(body.get("cpu_model")),
            cpus_online=_number(body.get("cpus_online")),
            page_size_bytes=host.facts.machine.page_bytes,
            cgroup_version=_text(body.get("cgroup_version")),
            boot_id=row.boot_id,
            inventory_at=host.inventory_at,
            nodes=describe_nodes(body, block, page_bytes=host.facts.machine.page_bytes),
            knobs=_knobs(host),
            collectors=view_collectors(_items(host, "collectors"), report),
            services=host.services,
            pods=pods,
            swaps=_swaps(host),
            agent_rss_bytes=agent.rss_bytes,
            agent_cpu_ratio=agent.cpu_ratio,
            hardware=read_hardware(body),
            agent=agent,
            clock_skew_seconds=row.clock_skew_seconds,
        )


def _by_name(wanted: HostFilter, order: HostOrder) -> bool:
    return order.by == "name" and not order.descending and not wanted.words and wanted.cause is None


def _page_by_name(
    session: ReadSession, wanted: HostFilter, cursor: str | None, limit: int
) -> tuple[list[HostRow], str | None]:
    """A page, and the cursor of the next: the last host of this one, so that no host is missed where others come."""
    after = None
    if cursor is not None:
        name, host_id = decode_cursor(cursor, (str, int))
        after = (str(name), int(host_id))
    rows = list_hosts(session, wanted=wanted, after=after, limit=limit + 1)
    last = rows[limit - 1] if len(rows) > limit else None
    return rows[:limit], None if last is None else encode_cursor(last.name, last.id)


def _page(
    session: ReadSession, wanted: HostFilter, order: HostOrder, cursor: str | None, limit: int
) -> tuple[list[HostRow], str | None]:
    """A page, and the cursor of the next: how many hosts were before it."""
    offset = 0 if cursor is None else max(int(decode_cursor(cursor, (int,))[0]), 0)
    rows = sort_hosts(session, wanted=wanted, order=order, offset=offset, limit=limit + 1)
    return rows[:limit], encode_cursor(offset + limit) if len(rows) > limit else None


def _cause(named: str) -> CauseOf:
    kind, colon, key = named.partition(":")
    if kind not in get_args(CauseKind) or not colon or not key:
        raise BadRequest(f"the cause {named[:80]!r} is not `state:…`, `verdict:…`, `setting:…` or `finding:…`")
    return cast("CauseKind", kind), key


def _filter(
    now: datetime, *, state: str | None, service: str | None, origin: Origin | None, labels: Sequence[str]
) -> HostFilter:
    pairs = []
    for label in labels:
        key, equals, value = label.partition("=")
        if not equals or not key:
            raise BadRequest(f"the label {label[:80]!r} is not `key=value`")
        pairs.append((key, value))
    late, silent = late_before(now), silent_before(now)
    return HostFilter(
        service=service,
        origin=origin,
        labels=tuple(pairs),
        seen_after={"reporting": late - timedelta(microseconds=1), "late": silent - timedelta(microseconds=1)}.get(
            state or ""
        ),
        seen_until={"late": late - timedelta(microseconds=1), "silent": silent - timedelta(microseconds=1)}.get(
            state or ""
        ),
        retired=None if state is None else state == "retired",
    )


def _newest(session: ReadSession, row: HostRow) -> Block | None:
    if row.last_end_at is None:
        return None
    block = read_block(session, row.id, row.last_end_at - NEWEST_SAMPLE_SPAN, row.last_end_at)
    return block.rows(slice(len(block) - 1, None)) if len(block) else None


def _items(host: Summarised, name: str) -> list[dict[str, object]]:
    found = (host.inventory or {}).get(name)
    return [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []


def _knobs(host: Summarised) -> tuple[KnobInfo, ...]:
    return tuple(
        KnobInfo(
            path=str(knob.get("path", "")),
            value=None if knob.get("value") is None else selected(str(knob["value"])),
            choices=() if knob.get("value") is None else choices(str(knob["value"])),
            unavailable=_text(knob.get("unavailable")),
        )
        for knob in _items(host, "knobs")
    )


def _swaps(host: Summarised) -> tuple[SwapInfo, ...]:
    return tuple(
        SwapInfo(
            name=str(swap.get("name", "")),
            kind=str(swap.get("kind", "")),
            size_bytes=_number(swap.get("size_bytes")) or 0,
            used_bytes=_number(swap.get("used_bytes")) or 0,
            priority=_number(swap.get("priority")) or 0,
            zoned=_text(swap.get("zoned")),
            discard=_flag(swap.get("discard")),
            rotational=_flag(swap.get("rotational")),
        )
        for swap in _items(host, "swaps")
    )


def _flag(value: object) -> bool | None:
    return value if isinstance(value, bool) else None


def _text(value: object) -> str | None:
    return str(value) if value else None


def _number(value: object) -> int | None:
    return int(value) if isinstance(value, int | float | str) and str(value) else None
