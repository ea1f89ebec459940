"""The change plan of a fleet: open advice on settings, grouped by identical change, and the files to apply it with."""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import median
from typing import Any, get_args

from tierscope.core.database import ReadSession
from tierscope.core.errors import NotFound, Unprocessable
from tierscope.domain.base.figures import Figure, Grade, Interval, absent
from tierscope.domain.knobs.bundle import HostValue, PlannedChange, change_id, render_bundle, verify_command
from tierscope.domain.knobs.facts import is_same_value
from tierscope.domain.knobs.files import VALUE, check_change, order_of, sysctl_name
from tierscope.domain.knobs.machine import read_knobs
from tierscope.domain.knobs.shapes import Change
from tierscope.storage.knobs.plan import OpenAdvice, list_open_knob_advice, read_settings, services_of_hosts
from tierscope.usecases.base.context import ContextUseCase
from tierscope.usecases.knobs.answers import GROUNDING, KnobEvidence
from tierscope.usecases.knobs.plan_answers import (
    ChangePlan,
    LeftOut,
    PlanBundle,
    PlanChange,
    PlanConflict,
    PlanHost,
    PlanReason,
    ValueCount,
)

STAKE = "knobs.stake_bytes/1"
NO_STAKE = "Heat of these hosts is not known: enable it under `[heat]` in the agent's configuration."
NOTES = (
    "Tierscope changes nothing on hosts: a bundle is text that you apply yourself.",
    "One change set at a time, on canary hosts first; what several do on one host cannot be told apart.",
    "A bundle of a change has the changes that belong with it on the same hosts: half of a set does harm.",
    "At stake is a host's hot memory outside DRAM plus its cold memory in DRAM: it counts for each change of the host.",
)
RISKS_TOLD = 5
"""So many risks of some hosts are told with a change, the most frequent first."""
_SENTENCE_END = re.compile(r"(?<=\.) (?=[A-Z])")


@dataclass(frozen=True, slots=True)
class _Wish:
    """One setting that one piece of advice wants on one host."""

    advice: OpenAdvice
    change: Change

    @property
    def id(self) -> str:
        return change_id(self.change.path, self.change.proposed)


@dataclass(slots=True)
class _Sorted:
    """Wishes that hold, and those that are left out."""

    wishes: list[_Wish]
    conflicts: list[PlanConflict]
    left_out: list[LeftOut]


class ChangePlans(ContextUseCase):
    """Plans and their bundles."""

    def plan(self) -> ChangePlan:
        """Identical changes of all hosts, the most at stake first."""
        with self._context.database.read() as session:
            return make_plan(session, self._context.clock())

    def bundle(
        self, change_ids: Sequence[str], *, host_ids: Collection[str], without_host_ids: Collection[str]
    ) -> PlanBundle:
        """The files of some changes, with what belongs to them on the same hosts, in the order of applying.

        `host_ids` limits it to these hosts unless it is empty.

        Raises:
            NotFound: a change is not in the plan.
            Unprocessable: nothing is left to change.
        """
        plan = self.plan()
        picked = [pick_change(plan, wanted) for wanted in dict.fromkeys(change_ids)]
        ids = {change.id for change in picked}

        def is_chosen(host: PlanHost) -> bool:
            return (not host_ids or host.host_id in host_ids) and host.host_id not in without_host_ids

        sets = {host.advice_id for change in picked for host in change.hosts if is_chosen(host)}
        planned = []
        for change in sorted(plan.changes, key=lambda change: order_of(change.path)):
            hosts = tuple(
                HostValue(host.host_id, host.name, host.current)
                for host in change.hosts
                if is_chosen(host) and (change.id in ids or host.advice_id in sets)
            )
            if hosts:
                planned.append(
                    PlannedChange(change.title, change.path, change.proposed, change.risk, change.verify, hosts)
                )
        if not planned:
            raise Unprocessable(
                "no host of the plan gets one of these changes", next_step="List them with GET /v1/advice/plan."
            )
        return PlanBundle(
            plan.made_at,
            tuple(change.id for change in planned),
            len({host.host_id for change in planned for host in change.hosts}),
            render_bundle(planned, plan.made_at),
        )


def pick_change(plan: ChangePlan, wanted: str) -> PlanChange:
    """The change with this id.

    Raises:
        NotFound: it is not in the plan.
    """
    for change in plan.changes:
        if change.id == wanted:
            return change
    raise NotFound(
        f"the plan has no change {wanted[:100]!r}",
        next_step="It was applied, decided on, or no longer holds. List changes with GET /v1/advice/plan.",
    )


def make_plan(session: ReadSession, now: datetime) -> ChangePlan:
    """The plan of all open advice on settings."""
    advice = list_open_knob_advice(session)
    found = _sort_wishes(advice, _present_values(session, advice))
    services = services_of_hosts(session)
    by_id: dict[str, list[_Wish]] = defaultdict(list)
    partners: dict[str, set[str]] = defaultdict(set)
    by_advice: dict[str, set[str]] = defaultdict(set)
    for wish in found.wishes:
        by_id[wish.id].append(wish)
        by_advice[wish.advice.public_id].add(wish.id)
    for ids in by_advice.values():
        for one in ids:
            partners[one] |= ids - {one}
    changes = [_change(wishes, services, sorted(partners[key])) for key, wishes in by_id.items()]
    hosts = {wish.advice.host_id: wish.advice for wish in found.wishes}
    return ChangePlan(
        made_at=now,
        host_count=len(hosts),
        stake_bytes=_stake(list(hosts.values())),
        changes=tuple(
            sorted(changes, key=lambda change: (-(change.stake_bytes.value or -1.0), -len(change.hosts), change.id))
        ),
        conflicts=tuple(found.conflicts),
        left_out=tuple(found.left_out),
        notes=NOTES,
    )


def _present_values(session: ReadSession, advice: Sequence[OpenAdvice]) -> dict[int, dict[str, str | None]]:
    """The settings of the hosts as their newest inventories say: they may have changed since the advice was made."""
    settings = read_settings(session, sorted({piece.host_id for piece in advice}))
    return {host: read_knobs({"knobs": held.knobs}) for host, held in settings.items()}


def _sort_wishes(advice: Sequence[OpenAdvice], present: Mapping[int, Mapping[str, str | None]]) -> _Sorted:
    found = _Sorted([], [], [])
    wanted: dict[tuple[int, str], list[_Wish]] = defaultdict(list)
    broken: dict[str, str] = {}
    for piece in advice:
        for change in _changes_of(piece, present.get(piece.host_id, {})):
            why = _unfit(change)
            if why is None and not is_same_value(change.current, change.proposed):
                wanted[piece.host_id, change.path].append(_Wish(piece, change))
                continue
            if why is not None:
                broken[piece.public_id] = change.path
            found.left_out.append(LeftOut(piece.host_public_id, piece.host_name, change.path, why or _has(change)))
    for wishes in wanted.values():
        first = wishes[0]
        values = tuple(dict.fromkeys(wish.change.proposed for wish in wishes))
        if len(values) > 1:
            host = first.advice
            found.conflicts.append(PlanConflict(host.host_public_id, host.host_name, first.change.path, values))
            broken |= {wish.advice.public_id: first.change.path for wish in wishes}
    for wishes in wanted.values():
        whole = [wish for wish in wishes if wish.advice.public_id not in broken]
        if whole:
            found.wishes.append(whole[0])
        elif all(broken[wish.advice.public_id] != wish.change.path for wish in wishes):
            first = wishes[0]
            why = f"it belongs with {broken[first.advice.public_id]}, which is left out"
            found.left_out.append(LeftOut(first.advice.host_public_id, first.advice.host_name, first.change.path, why))
    return found


def _changes_of(piece: OpenAdvice, present: Mapping[str, str | None]) -> list[Change]:
    """Its changes, from the value that the host has now: that is the one that takes the change back."""
    found = []
    for change in piece.answer.get("changes") or ():
        path = str(change["path"])
        value = present.get(path)
        current = value if value is not None and VALUE.fullmatch(value) else str(change["current"])
        found.append(Change(path, current, str(change["proposed"])))
    return found


def _has(change: Change) -> str:
    return f"it has {change.current} already; the advice is evaluated again within the hour"


def _unfit(change: Change) -> str | None:
    """Why a change cannot be made; None where it can, or is made already."""
    try:
        check_change(change)
    except ValueError as error:
        return str(error)
    return None


def _change(
    wishes: Sequence[_Wish], services: Mapping[int, Sequence[tuple[str, str]]], partners: Sequence[str]
) -> PlanChange:
    change = wishes[0].change
    advice = [wish.advice for wish in wishes]
    leading = max(advice, key=lambda piece: piece.stake_bytes or -1.0).answer
    stake = _stake(advice)
    values = Counter(wish.change.current for wish in wishes).most_common()
    return PlanChange(
        id=wishes[0].id,
        path=change.path,
        setting=sysctl_name(change.path),
        proposed=change.proposed,
        title=str(leading.get("title", "")),
        rules=tuple(sorted({str(piece.answer.get("rule", "")) for piece in advice})),
        values=tuple(ValueCount(value, count) for value, count in values),
        reasons=_reasons(advice),
        evidence=_evidence(advice),
        effect=str(leading.get("effect", "")),
        effect_figure=_median([piece.answer.get("effect_figure") for piece in advice]),
        risk=_risk([str(piece.answer.get("risk", "")) for piece in advice]),
        verify=str(leading.get("verify", "")),
        verify_command=verify_command(change.path, change.proposed),
        stake_bytes=stake,
        grade=stake.grade,
        belongs_with=tuple(partners),
        service_names=tuple(sorted({name for piece in advice for _, name in services.get(piece.host_id, ())})),
        hosts=tuple(
            _host(wish, services.get(wish.advice.host_id, ()))
            for wish in sorted(wishes, key=lambda wish: (-(wish.advice.stake_bytes or -1.0), wish.advice.host_name))
        ),
    )


def _risk(risks: Sequence[str]) -> str:
    """What is a risk on every host, and what on some, with how many: a hazard of few may not be lost among many."""
    each = [_SENTENCE_END.split(risk) for risk in risks]
    common = [one for one in dict.fromkeys(each[0]) if all(one in sentences for sentences in each)]
    own = Counter(" ".join(one for one in sentences if one not in common) for sentences in each)
    own.pop("", None)
    told = own.most_common(RISKS_TOLD)
    named = [f"On {hosts} of {len(risks)} hosts: {text}" for text, hosts in told]
    rest = own.total() - sum(hosts for _, hosts in told)
    more = [f"{rest} more hosts have risks of their own, which their advice names."] if rest else []
    return " ".join([*common, *named, *more])


def _host(wish: _Wish, services: Sequence[tuple[str, str]]) -> PlanHost:
    piece = wish.advice
    return PlanHost(
        host_id=piece.host_public_id,
        name=piece.host_name,
        origin=piece.origin,
        service_ids=tuple(public_id for public_id, _ in services),
        service_names=tuple(name for _, name in services),
        current=wish.change.current,
        stake_bytes=piece.stake_bytes,
        advice_id=piece.public_id,
        refreshed_at=piece.refreshed_at,
    )


def _reasons(advice: Sequence[OpenAdvice]) -> tuple[PlanReason, ...]:
    """One for each verdict, the most hosts first, in the words of the host with the most at stake."""
    by_verdict: dict[str, list[OpenAdvice]] = defaultdict(list)
    for piece in advice:
        by_verdict[str(piece.answer.get("verdict", "not_known"))].append(piece)
    found = []
    for verdict, pieces in by_verdict.items():
        leading = max(pieces, key=lambda piece: piece.stake_bytes or -1.0)
        found.append(PlanReason(verdict, len(pieces), str(leading.answer.get("explanation", ""))))
    return tuple(sorted(found, key=lambda reason: (-reason.hosts, reason.verdict)))


def _stake(advice: Sequence[OpenAdvice]) -> Figure:
    """What is at stake on these hosts together; a lower bound where some are not known."""
    known = [piece for piece in advice if piece.stake_bytes is not None]
    if not known:
        return absent(STAKE, "bytes", "not_collected", NO_STAKE)
    leading = [figure for piece in known for figure in _known((piece.answer.get("leading") or {}).values())]
    warnings = (f"Not known of {len(advice) - len(known)} hosts.",) if len(known) < len(advice) else ()
    return Figure(
        STAKE,
        "ok",
        sum(piece.stake_bytes or 0.0 for piece in known),
        "bytes",
        method="heat",
        n_hosts=len(known),
        coverage=len(known) / len(advice),
        grade=_weakest(leading),
        warnings=warnings,
    )


def _weakest(figures: Iterable[Mapping[str, Any]]) -> Grade | None:
    """The weakest grade of stored figures; None where none has any."""
    grades: list[Grade] = [figure["grade"] for figure in figures if figure.get("grade") in get_args(Grade)]
    return min(grades, key=get_args(Grade).index, default=None)


def _known(stored: Iterable[Mapping[str, Any] | None]) -> list[Mapping[str, Any]]:
    """Stored figures that have a value."""
    return [figure for figure in stored if figure and figure.get("value") is not None]


def _evidence(advice: Sequence[OpenAdvice]) -> tuple[KnobEvidence, ...]:
    by_metric: dict[tuple[str, str], list[Mapping[str, Any]]] = defaultdict(list)
    for piece in advice:
        for found in piece.answer.get("evidence") or ():
            by_metric[str(found["metric"]), str(found["unit"])].append(found)
    return tuple(
        KnobEvidence(
            metric, median(float(found["value"]) for found in rows), unit, _median([row.get("figure") for row in rows])
        )
        for (metric, unit), rows in by_metric.items()
    )


def _median(stored: Sequence[Mapping[str, Any] | None]) -> Figure | None:
    """The median of stored figures over their hosts, with their range; None where no host has one."""
    known = _known(stored)
    if not known:
        return None
    values = [float(figure["value"]) for figure in known]
    return Figure(
        str(known[0]["definition"]),
        "ok",
        median(values),
        str(known[0]["unit"]),
        method=known[0].get("method"),
        interval=Interval(min(values), max(values), None, "range") if len(values) > 1 else None,
        n_hosts=len(values),
        grade=_weakest(known),
        grounding=GROUNDING,
    )
