"""From changes of state to alerts: opening, changing and resolving their rows, with their texts."""

import hashlib
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from math import isfinite
from typing import Any

import numpy as np

from tierscope.core.database import WriteTransaction
from tierscope.domain.alerts.condition import Condition
from tierscope.domain.alerts.frame import MINUTE_S, Floats, Ints
from tierscope.domain.alerts.machine import LEVEL_NAMES, Changes, Level, StateName, States
from tierscope.domain.alerts.rules import CheckedRule, Rule
from tierscope.domain.alerts.templates import fill
from tierscope.domain.alerts.units import write_value
from tierscope.storage.alerts.rows import (
    AlertRow,
    AlertState,
    ChangeRow,
    ChangeState,
    append_changes,
    insert_alert,
    touch_alerts,
    update_alert,
)
from tierscope.storage.alerts.rules import RuleRow
from tierscope.usecases.alerts.subjects import Subject

GONE = "subject is no longer watched"


def fingerprint_of(rule_id: str, subject: Subject) -> str:
    """The same for each time that a rule alerts on a subject."""
    return hashlib.sha256(f"{rule_id}|{subject.kind}|{subject.public_id}".encode()).hexdigest()[:32]


def alert_labels(rule: Rule, subject: Subject) -> dict[str, str]:
    """Labels that routes and silences match: the host's, then the rule's own, and the rule's group."""
    return {**subject.labels, **rule.labels, "group": rule.group}


def value_text(condition: Condition, unit: str, value: float | None) -> str:
    """A value as texts say it, in the condition's unit."""
    if value is None or not isfinite(value):
        return "no value"
    if condition.words:
        place = int(value)
        return condition.words[place] if 0 <= place < len(condition.words) else "no value"
    return write_value(value, unit)


@dataclass(frozen=True, slots=True)
class AlertTexts:
    """Texts of a rule's alerts."""

    checked: CheckedRule
    unit: str
    of_rule: Mapping[str, str]
    """What the rule alone says."""

    @classmethod
    def of(cls, checked: CheckedRule) -> "AlertTexts":
        """Those of a rule."""
        condition, rule = checked.condition, checked.rule
        unit = condition.unit_name
        threshold = value_text(condition, unit, condition.threshold)
        return cls(checked, unit, {"threshold": threshold, "rule": rule.name, "severity": rule.severity})

    def summary(self, subject: Subject, value: float | None, labels: Mapping[str, str]) -> str:
        """The summary of an alert."""
        written = self.checked.rule.summary or "{{ subject }}: {{ rule }} ({{ value }})"
        return fill(written, self._values(subject, value), labels)

    def both(self, subject: Subject, value: float | None, labels: Mapping[str, str]) -> dict[str, str]:
        """Summary and description of an alert."""
        description = fill(self.checked.rule.description, self._values(subject, value), labels)
        return {"summary": self.summary(subject, value, labels), "description": description}

    def _values(self, subject: Subject, value: float | None) -> dict[str, str]:
        said = value_text(self.checked.condition, self.unit, value)
        return {**self.of_rule, "value": said, "subject": subject.name, "subject_kind": subject.kind}


@dataclass(slots=True)
class RuleEpisodes:
    """The open alerts of one rule while changes are applied to them. The caller holds the lock of alerts."""

    transaction: WriteTransaction
    row: RuleRow
    checked: CheckedRule
    open: dict[str, AlertRow]
    now: datetime
    _changes: list[ChangeRow] = field(default_factory=list)
    _texts: AlertTexts = field(init=False)

    def __post_init__(self) -> None:
        """What texts of the rule's alerts have in common is found once."""
        self._texts = AlertTexts.of(self.checked)

    def apply(self, changes: Changes, subjects: list[Subject], minutes: Ints, values: Floats) -> None:
        """Apply changes of level; `values` [subjects, minutes] are those that the condition looked at."""
        for place, minute, before, after in zip(
            changes.subjects.tolist(),
            changes.minutes.tolist(),
            changes.before.tolist(),
            changes.after.tolist(),
            strict=True,
        ):
            at = datetime.fromtimestamp(int(minutes[minute]) * MINUTE_S, UTC)
            self._apply_one(subjects[place], at, _finite(values[place, minute]), Level(before), Level(after))
        append_changes(self.transaction, self._changes, now=self.now)
        self._changes = []

    def touch(self, states: States, subjects: list[Subject], values: Floats, at: datetime) -> None:
        """Note the newest values of alerts that go on."""
        if not self.open:
            return
        seen = []
        for place in np.flatnonzero((states.level == Level.FIRING) | (states.level == Level.PENDING)).tolist():
            value, subject = _finite(values[place]), subjects[place]
            row = self.open.get(fingerprint_of(self.row.public_id, subject))
            if row is not None and value is not None:
                seen.append((row.id, value, self._texts.summary(subject, value, row.labels)))
        touch_alerts(self.transaction, seen, at)

    def drop_but(self, subjects: Sequence[Subject], at: datetime) -> None:
        """Resolve alerts of subjects that are no longer watched: of all but these."""
        watched = {(subject.kind, subject.public_id) for subject in subjects}
        gone = [row for row in self.open.values() if (row.subject_kind, row.subject_id) not in watched]
        for row in sorted(gone, key=lambda row: row.fingerprint):
            self._change(row, at, "resolved", {"resolved_at": at}, reason=GONE)
        append_changes(self.transaction, self._changes, now=self.now)
        self._changes = []

    def _apply_one(self, subject: Subject, at: datetime, value: float | None, before: Level, after: Level) -> None:
        fingerprint = fingerprint_of(self.row.public_id, subject)
        row = self.open.get(fingerprint)
        shown = self._shown(after)
        if shown is None:
            if row is not None:
                reason = "no data" if after == Level.NO_DATA else ""
                self._change(row, at, "resolved", {"resolved_at": at}, reason=reason)
            return
        if row is None:
            self._open(subject, fingerprint, at, value, LEVEL_NAMES[before], shown)
            return
        changed: dict[str, Any] = {"value": value, **self._texts.both(subject, value, row.labels)}
        if shown == "firing" and row.fired_at is None:
            changed["fired_at"] = at
        self._change(row, at, shown, changed)

    def _shown(self, level: Level) -> AlertState | None:
        """The state of the alert at a level; None where there is no alert."""
        name = LEVEL_NAMES[level]
        return None if name == "ok" or (name == "no_data" and self.checked.rule.no_data != "alert") else name

    def _open(
        self,
        subject: Subject,
        fingerprint: str,
        at: datetime,
        value: float | None,
        before: StateName,
        state: AlertState,
    ) -> None:
        rule = self.checked.rule
        labels = alert_labels(rule, subject)
        texts = self._texts.both(subject, value, labels)
        values: dict[str, Any] = {
            "public_id": "a" + secrets.token_hex(8),
            "rule_id": self.row.id,
            "rule_name": rule.name,
            "fingerprint": fingerprint,
            "severity": rule.severity,
            "state": state,
            "subject_kind": subject.kind,
            "subject_id": subject.public_id,
            "subject_name": subject.name,
            "origin": subject.origin,
            "labels": labels,
            "value": value,
            "unit": self._texts.unit,
            "threshold": self.checked.condition.threshold,
            **texts,
            "runbook_url": rule.runbook_url,
            "started_at": at,
            "fired_at": at if state == "firing" else None,
            "resolved_at": None,
            "last_seen_at": at,
        }
        made = insert_alert(self.transaction, values)
        row = AlertRow(id=made, **values)
        self.open[fingerprint] = row
        self._note(row, at, "ok" if before == "no_data" else before, state, "")

    def _change(
        self, row: AlertRow, at: datetime, state: AlertState, changed: Mapping[str, Any], *, reason: str = ""
    ) -> None:
        update_alert(self.transaction, row.id, {"state": state, **changed})
        new = AlertRow(**{name: getattr(row, name) for name in AlertRow.__slots__} | {"state": state} | dict(changed))
        if state == "resolved":
            self.open.pop(row.fingerprint)
        else:
            self.open[row.fingerprint] = new
        self._note(new, at, row.state, state, reason)

    def _note(self, row: AlertRow, at: datetime, before: ChangeState, after: ChangeState, reason: str) -> None:
        self._changes.append(
            ChangeRow(
                row.id,
                row.rule_id,
                row.fingerprint,
                at,
                before,
                after,
                row.severity,
                row.labels,
                row.value,
                row.summary,
                reason,
            )
        )


def _finite(value: float) -> float | None:
    return float(value) if isfinite(value) else None
