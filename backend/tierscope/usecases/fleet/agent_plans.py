"""What agents are asked to do: the plan of heat, and the kill switch."""

import hashlib
import json
import threading
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from tierscope.core.clock import Clock, utc_now
from tierscope.core.database import Database, ReadSession
from tierscope.core.errors import Conflict
from tierscope.domain.heat.plan import NO_PLAN, Chosen, HostPlan, choose_hosts, plan_host
from tierscope.storage.access import credentials as stored_access
from tierscope.storage.fleet import agent_plans as stored
from tierscope.storage.fleet.agent_plans import Pause, PauseScope
from tierscope.storage.fleet.agents import HostIdentity
from tierscope.usecases.base.subjects import require_subject_host

__all__ = ["AgentConfig", "AgentPlans", "Pause", "PauseInfo", "SwitchAnswer", "read_pause_state"]

INTERVAL_SECONDS = 60
CONFIG_VERSION = 1
SEEN_WITHIN = timedelta(days=1)
PLAN_KEPT = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class PauseInfo:
    """Whether a host's agent may work. `heat` follows from `paused`, or holds by itself."""

    paused: bool
    heat_paused: bool
    everywhere: bool
    since: datetime | None
    actor: str | None


@dataclass(frozen=True, slots=True)
class AgentConfig:
    """What a host is asked to do. A limit in the host's own file always wins; it never names a URL or a path."""

    interval_seconds: int
    paused: bool
    heat_enabled: bool
    plan: HostPlan
    version: int

    @property
    def etag(self) -> str:
        """A strong ETag over the content."""
        plan = [self.plan.services, self.plan.sample_services]
        body = json.dumps([self.interval_seconds, self.paused, self.heat_enabled, plan, self.version]).encode()
        return f'"{hashlib.sha256(body).hexdigest()[:16]}"'


@dataclass(frozen=True, slots=True)
class SwitchAnswer:
    """What a command at the kill switch did: how many pauses began or ended."""

    changed: int
    pauses: tuple[Pause, ...]


class AgentPlans:
    """Plans and pauses of agents."""

    def __init__(self, database: Database, *, clock: Clock = utc_now) -> None:
        self._database = database
        self._clock = clock
        self._lock = threading.Lock()
        self._made: tuple[datetime, date] | None = None
        self._by_host: Mapping[int, Mapping[str, Chosen]] = {}

    def config(self, host: HostIdentity) -> AgentConfig:
        """What this host is asked to do now."""
        with self._database.read() as session:
            state = read_pause_state(session, host.id)
            plan = self._plan(session, host)
        return AgentConfig(INTERVAL_SECONDS, state.paused, not state.heat_paused, plan, CONFIG_VERSION)

    def pauses(self) -> list[Pause]:
        """All pauses that hold, oldest first."""
        with self._database.read() as session:
            return stored.read_pauses(session)

    def pause(self, host: str | None, *, heat_only: bool, actor: str) -> SwitchAnswer:
        """Stop the agent of one host, or of all (None): at its next look, within some minutes.

        Raises:
            NotFound: no such host.
        """
        scope: PauseScope = "heat" if heat_only else "all"
        now = self._clock()
        with self._database.write() as transaction:
            host_id = None if host is None else require_subject_host(transaction, host).id
            changed = stored.insert_pause(transaction, host_id=host_id, scope=scope, actor=actor, now=now)
            detail = {"scope": scope, "changed": int(changed)}
            row = stored_access.AuditRow(now, actor, "agents.pause", host or "*", detail)
            stored_access.append_audit(transaction, row)
            return SwitchAnswer(int(changed), tuple(stored.read_pauses(transaction)))

    def resume(self, host: str | None, *, heat_only: bool, actor: str) -> SwitchAnswer:
        """End the pauses of one host, or every pause (None).

        Raises:
            NotFound: no such host.
            Conflict: every host is paused, so that one alone cannot go on.
        """
        scopes: tuple[PauseScope, ...] = ("heat",) if heat_only else ("all", "heat")
        now = self._clock()
        with self._database.write() as transaction:
            host_id = None if host is None else require_subject_host(transaction, host).id
            if host_id is not None:
                for row in stored.read_pauses(transaction, host_id=host_id):
                    if row.host_id is None and row.scope in scopes:
                        raise Conflict(
                            f"every host is paused, by {row.actor}",
                            next_step="End that with `tierscope agents resume --all`; then pause single hosts.",
                        )
            changed = stored.delete_pauses(transaction, host_id=host_id, scopes=scopes)
            detail = {"scopes": list(scopes), "changed": changed}
            audit = stored_access.AuditRow(now, actor, "agents.resume", host or "*", detail)
            stored_access.append_audit(transaction, audit)
            return SwitchAnswer(changed, tuple(stored.read_pauses(transaction)))

    def _plan(self, session: ReadSession, host: HostIdentity) -> HostPlan:
        """The host's plan. Recordings and simulations have none: they send what was recorded."""
        if host.origin != "live":
            return NO_PLAN
        now = self._clock()
        with self._lock:
            if self._made is None or self._made[1] != now.date() or now - self._made[0] >= PLAN_KEPT:
                self._by_host = _choose_all(session, now)
                self._made = (now, now.date())
            services = self._by_host.get(host.id, {})
        return plan_host(host.id, services)


def read_pause_state(session: ReadSession, host_id: int) -> PauseInfo:
    """Whether the agent of a host may work, and who said otherwise; the widest pause is the one named."""
    rows = stored.read_pauses(session, host_id=host_id)
    whole = [row for row in rows if row.scope == "all"]
    named = next(iter(whole or rows), None)
    return PauseInfo(
        paused=bool(whole),
        heat_paused=bool(rows),
        everywhere=named is not None and named.host_id is None,
        since=None if named is None else named.since,
        actor=None if named is None else named.actor,
    )


def _choose_all(session: ReadSession, now: datetime) -> Mapping[int, Mapping[str, Chosen]]:
    found: dict[int, dict[str, Chosen]] = defaultdict(dict)
    for service in stored.list_placed_services(session, seen_after=now - SEEN_WITHIN):
        chosen = choose_hosts(now.date(), service.name, service.hosts)
        for host in service.hosts:
            found[host][service.name] = chosen
    return found
