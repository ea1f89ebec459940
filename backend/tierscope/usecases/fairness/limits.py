"""What limits and protections would do on a host: its services' page samples replayed together, before and after."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np

from tierscope.core.database import ReadSession
from tierscope.core.errors import BadRequest, ConfigurationError
from tierscope.domain.base.figures import Figure, Interval, Window, absent
from tierscope.domain.fairness.limits import JoinedTrace, TenantReplay, TenantSimulator, join_tenants, paired_error
from tierscope.domain.fairness.vocabulary import Basis
from tierscope.domain.knobs.machine import read_host
from tierscope.domain.knobs.policy import HostPolicy, policy_of_host
from tierscope.domain.simulate import TenantSetting
from tierscope.domain.simulate.costs import Costs
from tierscope.domain.simulate.sampled import SampledTrace
from tierscope.domain.slowdown import ShareOnSlow
from tierscope.storage.base.subjects import SubjectHost, services_of_host
from tierscope.storage.fleet.hosts import read_inventories
from tierscope.usecases.base.context import ContextUseCase
from tierscope.usecases.base.subjects import require_subject_host
from tierscope.usecases.fairness.answers import TenantShare
from tierscope.usecases.fairness.limit_answers import HostLimits, LimitOutcome, ProposedProtection, TenantLimit
from tierscope.usecases.fairness.reads import fairness_window, judge
from tierscope.usecases.fairness.tenants import HostTenants, read_tenants
from tierscope.usecases.simulate.placements import STAND_IN_SD
from tierscope.usecases.simulate.samples import ChosenSamples, choose_samples, read_traces

MAX_TOUCHED = 400_000
"""Pages with accesses, summed over intervals, of each service: a request replays them about 20 times."""
_GROUNDING = "A page samples of all services replayed together under the host's policy"
_MODEL = "S slowdown model without measurements of the service"
_NEXT = "Name a service of this host with its bytes, such as demo/cache=4294967296."


@dataclass(frozen=True, slots=True)
class WantedLimits:
    """Bytes by id or name of the service: `memory.low`, and most of the top tier."""

    low_bytes: Mapping[str, int]
    top_max_bytes: Mapping[str, int]

    @classmethod
    def parse(cls, protect: Sequence[str], limit: Sequence[str]) -> "WantedLimits":
        """From texts `SERVICE=BYTES`.

        Raises:
            BadRequest: a text is no such pair, or a service comes twice.
        """
        return cls(_pairs(protect, "protect"), _pairs(limit, "limit"))


def _pairs(texts: Sequence[str], what: str) -> dict[str, int]:
    found: dict[str, int] = {}
    for given in texts:
        name, separator, amount = given.rpartition("=")
        if not (separator and name and amount.isascii() and amount.isdigit() and len(amount) < 18):  # noqa: PLR2004
            raise BadRequest(f"{what} is {given[:80]!r}, which is not SERVICE=BYTES", next_step=_NEXT)
        if name in found:
            raise BadRequest(f"{what} names {name[:80]!r} twice", next_step=_NEXT)
        found[name] = int(amount)
    return found


@dataclass(frozen=True, slots=True)
class _Shared:
    """The services that are replayed together, in order, with their shares and samples; why others are not."""

    shares: tuple[TenantShare, ...]
    sampled: tuple[SampledTrace, ...]
    chosen: tuple[ChosenSamples, ...]
    left_out: tuple[str, ...]

    @property
    def interval_s(self) -> float:
        """Length of an interval."""
        return self.chosen[0].interval_s

    @property
    def counts(self) -> bool:
        """Whether accesses are counted for all; else some are known as active or idle alone."""
        return all(one.counts for one in self.chosen)


class LimitReads(ContextUseCase):
    """Replays of a host's services under limits and protections."""

    def host(
        self, host_id: str, wanted: WantedLimits, *, basis: Basis | None, from_: str | None, to: str | None
    ) -> HostLimits:
        """What the settings would do; without any, what the proposed protection would.

        Raises:
            NotFound: no such host.
            BadRequest: the window cannot be read or is longer than eight days, or a service is none of the replayed.
            ConfigurationError: the compiled core is not built.
        """
        now = self._context.clock()
        window = fairness_window(from_, to, now)
        with self._context.database.read() as session:
            host = require_subject_host(session, host_id)
            found = read_tenants(session, host, "service", window, now=now, max_points=500)
            inventory = read_inventories(session, [host.id]).get(host.id)
            policy = policy_of_host(read_host(None if inventory is None else inventory[1]))
            shares = judge(found, window, basis)
            shared = _read_shared(session, host, shares.tenants, window, now)
        return _answer(host, found, shares.basis, shared, policy, wanted, window)


def _read_shared(
    session: ReadSession, host: SubjectHost, shares: Sequence[TenantShare], window: Window, now: datetime
) -> _Shared:
    numbers = {service.public_id: service.id for service in services_of_host(session, host.id)}
    there: list[tuple[TenantShare, ChosenSamples]] = []
    left_out = []
    for share in shares:
        chosen = choose_samples(session, numbers[share.id], window, host_id=host.id, most_touched=MAX_TOUCHED)
        lacking = "no page samples in this window" if chosen is None else chosen.missing()
        if chosen is None or lacking is not None:
            left_out.append(f"{share.name}: {lacking}")
        else:
            there.append((share, chosen))
    lengths = Counter(chosen.method.interval_ns for _, chosen in there)
    kept = []
    for share, chosen in there:
        if chosen.method.interval_ns != lengths.most_common(1)[0][0]:
            left_out.append(f"{share.name}: sampled over intervals of {chosen.interval_s:g} s, unlike the others")
            continue
        trace = read_traces(session, numbers[share.id], chosen, window, now=now).get(host.id)
        if trace is None:
            left_out.append(f"{share.name}: none of its sampled intervals was observed")
        else:
            kept.append((share, trace, chosen))
    parts = ([], [], []) if not kept else zip(*kept, strict=True)
    picked, sampled, blocks = (tuple(part) for part in parts)
    return _Shared(picked, sampled, blocks, tuple(left_out))


def _answer(
    host: SubjectHost,
    found: HostTenants,
    basis: Basis,
    shared: _Shared,
    policy: HostPolicy,
    wanted: WantedLimits,
    window: Window,
) -> HostLimits:
    run = policy if shared.counts else (policy.stand_in() or policy)
    empty = HostLimits(
        host_id=host.public_id,
        host=host.name,
        origin=host.origin,
        window=window,
        policy=run.policy,
        policy_label=run.label,
        policy_why=run.why,
        basis=None,
        asked=bool(wanted.low_bytes or wanted.top_max_bytes),
        tenants=(),
        proposal=None,
        proposal_note="",
        reason=None,
        notes=tuple(f"Not replayed: {reason}." for reason in shared.left_out),
    )
    reason = _missing(found, shared)
    if reason is not None:
        return replace(empty, reason=reason)
    try:
        joined = join_tenants(shared.sampled)
        work = _Work(shared, joined, run, basis, window, stands_in=run is not policy)
    except ValueError as error:
        return replace(empty, reason=str(error))
    except RuntimeError as error:
        raise ConfigurationError(str(error), next_step="Run `make simcore`.") from error
    settings = work.settings(wanted)
    proposal, note = work.propose()
    if not empty.asked and proposal is not None:
        settings = work.settings(WantedLimits({proposal.id: int(proposal.low_bytes)}, {}))
    return replace(
        empty, basis=basis, tenants=work.view(settings), proposal=proposal, proposal_note=note, notes=work.notes(empty)
    )


def _missing(found: HostTenants, shared: _Shared) -> str | None:
    if found.machine.slow_bytes is None:
        return "This host has one memory tier: there is nothing to share out."
    if len(shared.shares) < 2:  # noqa: PLR2004 - one has nobody to push it out
        return (
            f"{len(shared.shares)} of {len(found.tenants)} services of this host have page samples in this window:"
            " two are needed. Turn page samples on for its services, or widen the window."
        )
    return None


class _Work:
    """One host's replays, in bytes: a base page of the trace stands for `page_bytes` of the host."""

    def __init__(
        self, shared: _Shared, joined: JoinedTrace, run: HostPolicy, basis: Basis, window: Window, *, stands_in: bool
    ) -> None:
        self._shared, self._joined, self._run, self._basis = shared, joined, run, basis
        self._window, self._stands_in = window, stands_in
        top = sum(_value(share.top_bytes) for share in shared.shares)
        resident = sum(_value(share.resident_bytes) for share in shared.shares)
        self._simulator = TenantSimulator(
            joined, run.at(float(np.clip(top / resident, 0.001, 1.0))), interval_s=shared.interval_s
        )
        self._page_bytes = resident / self._simulator.peak_pages
        self._before = self._simulator.replay([TenantSetting()] * len(shared.shares))

    def settings(self, wanted: WantedLimits) -> list[TenantSetting]:
        """The settings of each service.

        Raises:
            BadRequest: a service is none of the replayed.
        """
        known = {name for share in self._shared.shares for name in (share.id, share.name)}
        strange = next((name for name in (*wanted.low_bytes, *wanted.top_max_bytes) if name not in known), None)
        if strange is not None:
            names = ", ".join(share.name for share in self._shared.shares)
            raise BadRequest(f"{strange[:80]!r} is none of the services replayed", next_step=f"Choose of: {names}.")
        found = []
        for share in self._shared.shares:
            low = wanted.low_bytes.get(share.id, wanted.low_bytes.get(share.name, 0))
            most = wanted.top_max_bytes.get(share.id, wanted.top_max_bytes.get(share.name))
            found.append(TenantSetting(self._pages(low), None if most is None else self._pages(most)))
        return found

    def _pages(self, size_bytes: float) -> int:
        return round(size_bytes / self._page_bytes)

    def propose(self) -> tuple[ProposedProtection | None, str]:
        """The smallest `memory.low` that gives the service furthest below its fair share that share; or why none."""
        lacking = []
        for place, share in enumerate(self._shared.shares):
            fair, over = self._fair(share, "fair_bytes"), self._fair(share, "over_bytes")
            if fair.value is not None and over.value is not None and over.value < 0:
                lacking.append((over.value, place, fair.value))
        if not lacking:
            return None, "No service that was replayed holds less than its fair share."
        _, place, fair_bytes = min(lacking)
        share = self._shared.shares[place]
        if self._before[place].dram_pages * self._page_bytes >= fair_bytes:
            return None, (
                f"{share.name} gets its fair share in the replay without any setting: what it lacks on the host is not"
                f" what {self._run.label} alone makes of these accesses."
            )
        low = self._simulator.smallest_low(place, self._pages(fair_bytes), self._pages(_value(share.resident_bytes)))
        if low is None:
            return None, (
                f"No memory.low gives {share.name} its fair share in the replay: {self._run.label} brings too few of"
                " its pages to the top tier, or reclaims none there."
            )
        size = low * self._page_bytes
        note = f"memory.low of {size / 2**20:,.0f} MiB is the smallest with which {share.name} holds its fair share."
        return ProposedProtection(share.id, share.name, size), note

    def _fair(self, share: TenantShare, what: str) -> Figure:
        fair = next(one for one in share.fair if one.basis == self._basis)
        figure: Figure = getattr(fair, what)
        return figure

    def view(self, settings: Sequence[TenantSetting]) -> tuple[TenantLimit, ...]:
        """All services, before and after."""
        after = self._simulator.replay(settings)
        found = []
        for place, (share, setting) in enumerate(zip(self._shared.shares, settings, strict=True)):
            most = setting.dram_max_pages
            found.append(
                TenantLimit(
                    id=share.id,
                    name=share.name,
                    low_bytes=setting.low_pages * self._page_bytes or None,
                    top_max_bytes=None if most is None else most * self._page_bytes,
                    fair_bytes=self._fair(share, "fair_bytes"),
                    before=self._outcome(place, self._before[place]),
                    after=self._outcome(place, after[place]),
                    local_change=self._change(place, self._before[place], after[place]),
                )
            )
        return tuple(found)

    def _outcome(self, place: int, found: TenantReplay) -> LimitOutcome:
        top = self._figure(place, "top_bytes", "bytes", found.dram_pages * self._page_bytes, None)
        if found.away is None:
            reason = "None of its sampled pages was accessed."
            return LimitOutcome(top, self._absent("local_ratio", reason), self._absent("loss_ratio", reason))
        away = found.away.widened(STAND_IN_SD) if self._stands_in else found.away
        local = Interval(1.0 - away.hi, 1.0 - away.lo, away.level, "confidence")
        return LimitOutcome(
            top, self._figure(place, "local_ratio", "ratio", 1.0 - away.value, local), self._loss(place, found, away)
        )

    def _loss(self, place: int, found: TenantReplay, away: ShareOnSlow) -> Figure:
        if found.refaults:
            return self._absent("loss_ratio", "Pages were read again from disk, whose cost the slowdown model lacks.")
        belief = Costs().slowdown
        interval = Interval(belief.loss_lower(away), belief.loss_upper(away), 0.9, "confidence")
        figure = self._figure(place, "loss_ratio", "ratio", belief.loss_median(away), interval)
        return replace(figure, grounding=f"{_MODEL}; {_GROUNDING}")

    def _change(self, place: int, before: TenantReplay, after: TenantReplay) -> Figure:
        if before.away is None or after.away is None:
            return self._absent("local_change", "None of its sampled pages was accessed.")
        change = before.away.value - after.away.value
        half = paired_error(before, after, self._joined.sampled_ratio)
        around = None if half is None else Interval(change - half, change + half, 0.95, "confidence")
        return self._figure(place, "local_change", "ratio", change, around)

    def _absent(self, name: str, reason: str) -> Figure:
        definition, unit = f"fairness.replayed_{name}/1", "ratio"
        return absent(definition, unit, "not_enough_data", reason, window=self._window)

    def _figure(self, place: int, name: str, unit: str, value: float, interval: Interval | None) -> Figure:
        return Figure(
            f"fairness.replayed_{name}/1",
            "ok",
            value,
            unit,
            method=self._shared.chosen[place].method.family,
            window=self._window,
            interval=interval,
            n_hosts=1,
            n_intervals=self._joined.n_intervals,
            n_samples=self._joined.samples[place],
            coverage=min(self._joined.n_intervals * self._shared.interval_s / self._window.seconds, 1.0),
            grade="early" if self._stands_in else "partial",
            grounding=_GROUNDING,
        )

    def notes(self, empty: HostLimits) -> tuple[str, ...]:
        """What the replay rests on."""
        minutes = self._joined.n_intervals * self._shared.interval_s / 60
        span = f"{self._joined.n_intervals} intervals ({minutes:,.0f} min) in which all these services were sampled"
        notes = [
            f"Simulated: {span}, replayed together with as much of the top tier as they hold together.",
            "memory.low is compared with all memory of a service, as in the kernel; it acts where reclaim demotes.",
            "A limit of the top tier is no setting of mainline: it says what one would do.",
        ]
        if not self._shared.counts:
            notes.append("Accessed bits tell active pages from idle ones: an active interval counts as one access.")
        return (*empty.notes, *notes)


def _value(figure: Figure) -> float:
    return figure.value or 0.0
