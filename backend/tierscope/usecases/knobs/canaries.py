"""Who tries a change of the plan first: canary hosts of one service, and control hosts beside them."""

import hashlib
from collections import Counter
from dataclasses import replace
from datetime import datetime, timedelta

from tierscope.core.database import ReadSession
from tierscope.core.errors import NotFound
from tierscope.storage.fleet.hosts import HostRow
from tierscope.usecases.base.context import ContextUseCase
from tierscope.usecases.experiments.arms import Candidates, draw_canary, find_candidates
from tierscope.usecases.knobs.plan import make_plan, pick_change
from tierscope.usecases.knobs.plan_answers import (
    CanaryProposal,
    PlanChange,
    PlanHost,
    TrialHost,
    TrialService,
)

CANARIES = 5
"""As many as advice asks for; fewer where half of the hosts are fewer."""
SPAN = timedelta(days=1)
"""Of the experiment as its form opens: hosts of another one in that time cannot take part."""
OTHERS = (
    "{n} control hosts are not advised this change: they are alike in machine, kernel and agent, and not in verdict."
)
SINGLE = "One canary host tells little: an effect on it may be that host's own."


class Canaries(ContextUseCase):
    """Proposals of arms for changes of the plan."""

    def propose(self, wanted: str, *, service: str | None, canary_n: int | None) -> CanaryProposal:
        """Arms for one change within one service: that with most of its hosts where none is named.

        The same hosts are proposed as long as the plan and the fleet stay as they are.

        Raises:
            NotFound: the change is not in the plan, or not advised to the service.
        """
        now = self._context.clock()
        with self._context.database.read() as session:
            change = pick_change(make_plan(session, now), wanted)
            counts = Counter(
                found for host in change.hosts for found in zip(host.service_ids, host.service_names, strict=True)
            )
            chosen = next((pair for pair, _ in counts.most_common() if service in (None, pair[0])), None)
            if chosen is None:
                raise NotFound(
                    f"no host of service {(service or 'any')[:80]!r} gets this change",
                    next_step="List its hosts with GET /v1/advice/plan.",
                )
            advised = {host.host_id: host for host in change.hosts if chosen[0] in host.service_ids}
            services = tuple(TrialService(*pair, hosts) for pair, hosts in counts.most_common())
            return replace(_propose(session, change, chosen, advised, canary_n, now), services=services)


def _propose(
    session: ReadSession,
    change: PlanChange,
    service: tuple[str, str],
    advised: dict[str, PlanHost],
    canary_n: int | None,
    now: datetime,
) -> CanaryProposal:
    fit = find_candidates(session, service[0], now=now, span=(now, now + SPAN), only=set(advised))
    count = min(canary_n or CANARIES, max(len(fit.hosts) // 2, 1), len(fit.hosts))
    seed = int(hashlib.sha256(f"{change.id} {service[0]}".encode()).hexdigest()[:12], 16)
    drawn = set(draw_canary(fit.hosts, count, seed)[0]) if count else set()
    canary = [host for host in fit.hosts if host.id in drawn]
    control = [host for host in fit.hosts if host.id not in drawn]
    others: list[HostRow] = []
    if canary and len(control) < len(canary):
        others = _peers(session, service[0], fit, now)
        control = [*control, *others]
    notes = []
    if others:
        notes.append(OTHERS.format(n=len(others)))
    if len(canary) == 1 and control:
        notes.append(SINGLE)
    missing = None
    if not canary or not control:
        missing = (
            f"{len(fit.hosts)} of {len(advised)} hosts of {service[1]} can take part, and no like host is left as a "
            "control: apply the change and compare before with after on the host's page."
        )
        canary, control = [], []
    first = next(iter(advised.values())) if not canary else advised[canary[0].public_id]
    return CanaryProposal(
        change_id=change.id,
        setting=change.setting,
        proposed=change.proposed,
        title=change.title,
        service_id=service[0],
        service_name=service[1],
        services=(),
        advice_id=first.advice_id,
        experiment_name=f"{change.title}: {change.setting} = {change.proposed}"[:200],
        hypothesis=f"{change.effect} {change.verify}"[:2000],
        canary=tuple(_trial(host, advised) for host in canary),
        control=tuple(_trial(host, advised) for host in control),
        seed=None if others or not canary else seed,
        excluded=tuple(fit.excluded),
        missing=missing,
        notes=tuple(notes),
    )


def _peers(session: ReadSession, service_id: str, fit: Candidates, now: datetime) -> list[HostRow]:
    """Hosts of the service that are like those of the change, and are not advised it."""
    own = {host.id for host in fit.hosts}
    out = {host.host_id for host in fit.excluded}
    found = find_candidates(session, service_id, now=now, span=(now, now + SPAN), like=fit.hosts[0])
    return [host for host in found.hosts if host.id not in own and host.public_id not in out]


def _trial(host: HostRow, advised: dict[str, PlanHost]) -> TrialHost:
    return TrialHost(host.public_id, host.name, gets_advice=host.public_id in advised)
