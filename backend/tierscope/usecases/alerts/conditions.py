"""The condition behind a stored alert, and the minutes that it looks at."""

from dataclasses import dataclass
from datetime import datetime

from tierscope.core.database import ReadSession
from tierscope.domain.alerts.frame import MINUTE_S, Frame
from tierscope.domain.alerts.rules import CheckedRule, check_rule
from tierscope.domain.alerts.vocabulary import AGE
from tierscope.storage.alerts.rows import AlertRow
from tierscope.storage.alerts.rules import RuleRow, list_rules
from tierscope.usecases.alerts.frames import read_frame
from tierscope.usecases.alerts.subjects import Fleet, Subject


@dataclass(frozen=True, slots=True)
class AlertCondition:
    """The rule of an alert as it is now, ready to be evaluated, and the alert's subject."""

    rule: RuleRow
    checked: CheckedRule
    subject: Subject

    def read(self, session: ReadSession, start: datetime, end: datetime) -> tuple[Frame, int]:
        """The minutes of (start, end] with those before that the condition needs; and how many are in it."""
        first, last = int(start.timestamp() // MINUTE_S) + 1, int(end.timestamp() // MINUTE_S)
        names = [name for name in self.checked.inputs if name != AGE]
        wide = (first - self.checked.lookback, last)
        kind = self.checked.rule.scope.kind
        return read_frame(session, kind, [self.subject], wide, names, packed=True), last - first + 1


def find_condition(session: ReadSession, row: AlertRow) -> AlertCondition | str:
    """The condition of an alert; a text says why there is none any more."""
    rule = next((found for found in list_rules(session) if found.id == row.rule_id), None)
    checked = None if rule is None else check_rule(rule.rule)[0]
    if rule is None or checked is None:
        return "The rule is gone, so that its value is not known any more."
    for subject in Fleet.read(session).subjects(checked.rule.scope):
        if subject.public_id == row.subject_id:
            return AlertCondition(rule, checked, subject)
    return "The subject is no longer in the scope of the rule."
