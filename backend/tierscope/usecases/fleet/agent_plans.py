"""What agents are asked to do: the plan of heat, and the kill switch."""

import hashlib
import json
import threading
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from tierscope.core import generations
from tierscope.core.clock import Clock, utc_now
from tierscope.core.database import Database, ReadSession
from tierscope.core.errors import Conflict
from tierscope.core.settings import Sending
from tierscope.domain.fleet.sending import SETTLES, held_seconds
from tierscope.domain.heat.plan import NO_PLAN, Chosen, HostPlan, choose_hosts, plan_host
from tierscope.storage.access import credentials as stored_access
from tierscope.storage.fleet import agent_plans as stored
from tierscope.storage.fleet.agent_plans import Pause, PauseScope
from tierscope.storage.fleet.agents import HostIdentity
from tierscope.storage.fleet.sending import SendingHosts, read_sending, write_held_seconds
from tierscope.usecases.base.subjects import require_subject_host

__all__ = ["AgentConfig", "AgentPlans", "Pause", "PauseInfo", "SwitchAnswer", "read_pause_state"]

INTERVAL_SECONDS = 60
CONFIG_VERSION = 1
SEEN_WITHIN = timedelta(days=1)
PLAN_KEPT = timedelta(minutes=1)
PAUSES_KEPT = timedelta(seconds=10)
"""An agent asks each minute or two: it hears of a pause that another process wrote at most so much later."""


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
    send_minutes: int
    paused: bool
    heat_enabled: bool
    plan: HostPlan
    version: int

    @property
    def etag(self) -> str:
        """A strong ETag over the content."""
        plan = [self.plan.services, self.plan.sample_services]
        says = [self.interval_seconds, self.send_minutes, self.paused, self.heat_enabled, plan, self.version]
        body = json.dumps(says).encode()
        return f'"{hashlib.sha256(body).hexdigest()[:16]}"'


@dataclass(frozen=True, slots=True)
class SwitchAnswer:
    """What a command at the kill switch did: how many pauses began or ended."""

    changed: int
    pauses: tuple[Pause, ...]


@dataclass(frozen=True, slots=True)
class _Fleet:
    """What the plans of all hosts follow from: read once a minute."""

    made_at: datetime
    generation: int
    services: Mapping[int, Mapping[str, Chosen]]
    sending: SendingHosts


class AgentPlans:
    """Plans and pauses of agents. `sending`: how often they send; each minute without it."""

    def __init__(self, database: Database, *, clock: Clock = utc_now, sending: Sending | None = None) -> None:
        self._database = database
        self._clock = clock
        self._sending = sending or Sending(minutes=1)
        self._lock = threading.Lock()
        self._fleet: _Fleet | None = None
        self._pauses: tuple[datetime, Sequence[Pause]] | None = None
        self._less_since: dict[int, datetime] = {}
        """Since when hosts are told to hold less back than is written down of them."""

    def config(self, host: HostIdentity, *, most_minutes: int = 1) -> AgentConfig:
        """What this host is asked to do now. `most_minutes`: the longest time between batches that it would take."""
        known = self.known(host, most_minutes=most_minutes)
        if known is not None:
            return known
        now = self._clock()
        with self._lock:
            if not self._is_fresh(now):
                self._read(now)
            fleet, pauses = self._fleet, self._pauses
        assert fleet is not None
        assert pauses is not None
        minutes = self._send_minutes(fleet, host, most_minutes)
        if self._held_change(fleet, host, minutes, now) is not None:
            with self._database.write() as transaction:
                write_held_seconds(transaction, host, held_seconds(minutes))
            fleet.sending.held_seconds[host.id] = held_seconds(minutes)
            self._less_since.pop(host.id, None)
        return _config(host, fleet, pauses[1], minutes)

    def known(self, host: HostIdentity, *, most_minutes: int = 1) -> AgentConfig | None:
        """The same from memory, without waiting for anything; None where the database has to be asked or told."""
        now = self._clock()
        fleet, pauses = self._fleet, self._pauses
        if fleet is None or pauses is None or not self._is_fresh(now):
            return None
        minutes = self._send_minutes(fleet, host, most_minutes)
        if self._held_change(fleet, host, minutes, now) is not None:
            return None
        return _config(host, fleet, pauses[1], minutes)

    def _is_fresh(self, now: datetime) -> bool:
        fleet, pauses = self._fleet, self._pauses
        if fleet is None or pauses is None or fleet.generation != generations.current():
            return False
        made = fleet.made_at
        return made.date() == now.date() and now - made < PLAN_KEPT and now - pauses[0] < PAUSES_KEPT

    def _read(self, now: datetime) -> None:
        """Read what is too old. The caller holds the lock."""
        fleet = self._fleet
        with self._database.read() as session:
            if fleet is None or fleet.generation != session.generation:
                fleet, self._less_since = None, {}
            if fleet is None or fleet.made_at.date() != now.date() or now - fleet.made_at >= PLAN_KEPT:
                seen_after = now - SEEN_WITHIN
                services = _choose_all(session, now)
                sending = read_sending(session, seen_after=seen_after, now=now)
                self._fleet = _Fleet(now, session.generation, services, sending)
            self._pauses = (now, stored.read_pauses(session))

    def _send_minutes(self, fleet: _Fleet, host: HostIdentity, most_minutes: int) -> int:
        small = fleet.sending.hosts <= self._sending.small_fleet_hosts
        wanted = 1 if small or host.id in fleet.sending.closely else self._sending.minutes
        return max(1, min(wanted, most_minutes))

    def _held_change(self, fleet: _Fleet, host: HostIdentity, minutes: int, now: datetime) -> int | None:
        """What has to be written down of how long a host holds samples back; None where it stands there.

        More counts at once, less when what the host had held back has come: until then nothing of it is late.
        """
        written, held = fleet.sending.held_seconds.get(host.id, 0), held_seconds(minutes)
        if held >= written:
            self._less_since.pop(host.id, None)
            return held if held > written else None
        since = self._less_since.setdefault(host.id, now)
        return held if now - since >= SETTLES else None

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
            pauses = tuple(stored.read_pauses(transaction))
        self._pauses = None
        return SwitchAnswer(int(changed), pauses)

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
            pauses = tuple(stored.read_pauses(transaction))
        self._pauses = None
        return SwitchAnswer(changed, pauses)


def read_pause_state(session: ReadSession, host_id: int) -> PauseInfo:
    """Whether the agent of a host may work, and who said otherwise; the widest pause is the one named."""
    return _pause_state(stored.read_pauses(session, host_id=host_id))


def _pause_state(rows: Sequence[Pause]) -> PauseInfo:
    whole = [row for row in rows if row.scope == "all"]
    named = next(iter(whole or rows), None)
    return PauseInfo(
        paused=bool(whole),
        heat_paused=bool(rows),
        everywhere=named is not None and named.host_id is None,
        since=None if named is None else named.since,
        actor=None if named is None else named.actor,
    )


def _config(host: HostIdentity, fleet: _Fleet, pauses: Sequence[Pause], minutes: int) -> AgentConfig:
    """Recordings and simulations have no plan of heat: they send what was recorded."""
    state = _pause_state([row for row in pauses if row.host_id in (None, host.public_id)])
    plan = plan_host(host.id, fleet.services.get(host.id, {})) if host.origin == "live" else NO_PLAN
    return AgentConfig(INTERVAL_SECONDS, minutes, state.paused, not state.heat_paused, plan, CONFIG_VERSION)


def _choose_all(session: ReadSession, now: datetime) -> Mapping[int, Mapping[str, Chosen]]:
    found: dict[int, dict[str, Chosen]] = defaultdict(dict)
    for service in stored.list_placed_services(session, seen_after=now - SEEN_WITHIN):
        chosen = choose_hosts(now.date(), service.name, service.hosts)
        for host in service.hosts:
            found[host][service.name] = chosen
    return found
