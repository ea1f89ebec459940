"""Alert rules as stored: each as its file says it."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from sqlalchemy import delete, func, insert, select, text, update

from tierscope.core.database import ReadSession, WriteTransaction
from tierscope.domain.alerts.files import read_rule, rule_entry
from tierscope.domain.alerts.problems import RuleError
from tierscope.domain.alerts.rules import Rule
from tierscope.storage.tables import alert_rules, alert_states

RuleOrigin = Literal["shipped", "own"]


@dataclass(frozen=True, slots=True)
class RuleRow:
    """A stored rule. `version` rises when the rule says something else of the same history."""

    id: int
    public_id: str
    origin: RuleOrigin
    version: int
    created_at: datetime
    updated_at: datetime
    author: str | None
    rule: Rule


@dataclass(frozen=True, slots=True)
class UnreadableRule:
    """A stored rule whose body says nothing that this version understands; `body` as it is stored."""

    id: int
    public_id: str
    origin: RuleOrigin
    name: str
    body: Any
    reason: str


@dataclass(frozen=True, slots=True)
class RuleStanding:
    """How far a rule is evaluated, and how many subjects are in each state."""

    evaluated_to: datetime
    counts: dict[str, int]


def list_rules(session: ReadSession) -> list[RuleRow]:
    """All rules that can be read, by group and name; the status page tells of the others."""
    return [row for row in _list(session) if isinstance(row, RuleRow)]


def find_rule(session: ReadSession, public_id: str) -> RuleRow | UnreadableRule | None:
    """One rule by its public id."""
    row = session.execute(select(alert_rules).where(alert_rules.c.public_id == public_id)).one_or_none()
    return None if row is None else _row(row)


def find_rule_named(session: ReadSession, name: str) -> RuleRow | UnreadableRule | None:
    """One rule by its name."""
    row = session.execute(select(alert_rules).where(alert_rules.c.name == name)).one_or_none()
    return None if row is None else _row(row)


def rules_by_name(session: ReadSession) -> dict[str, RuleRow | UnreadableRule]:
    """All rules by name, those that cannot be read too."""
    return {row.name: _row(row) for row in session.execute(select(alert_rules))}


def count_rules(session: ReadSession) -> int:
    """How many rules there are."""
    return int(session.execute(select(func.count()).select_from(alert_rules)).scalar_one())


def insert_rule(
    transaction: WriteTransaction, public_id: str, rule: Rule, *, origin: RuleOrigin, author: str | None, now: datetime
) -> int:
    """Store a rule; its id."""
    values = _columns(rule) | {
        "public_id": public_id,
        "origin": origin,
        "created_at": now,
        "updated_at": now,
        "author": author,
    }
    return int(transaction.execute(insert(alert_rules).values(values).returning(alert_rules.c.id)).scalar_one())


def replace_rule(
    transaction: WriteTransaction, rule_id: int, rule: Rule, *, version: int, author: str | None, now: datetime
) -> None:
    """Store another body in place of a rule's."""
    values = _columns(rule) | {"version": version, "updated_at": now, "author": author}
    transaction.execute(update(alert_rules).where(alert_rules.c.id == rule_id).values(values))


def delete_rule(transaction: WriteTransaction, rule_id: int) -> None:
    """Forget a rule and where it stood. Its alerts stay."""
    transaction.execute(delete(alert_rules).where(alert_rules.c.id == rule_id))


def drop_states(transaction: WriteTransaction, rule_id: int) -> None:
    """Forget where a rule stood."""
    transaction.execute(delete(alert_states).where(alert_states.c.rule_id == rule_id))


def read_standings(session: ReadSession) -> dict[int, RuleStanding]:
    """Where each evaluated rule stands, by id."""
    statement = text("SELECT rule_id, evaluated_to, counts FROM alert_states")
    return {row.rule_id: RuleStanding(row.evaluated_to, row.counts) for row in session.execute(statement)}


def _columns(rule: Rule) -> dict[str, Any]:
    return {"name": rule.name, "group_name": rule.group, "enabled": rule.enabled, "body": rule_entry(rule)}


def _list(session: ReadSession) -> list[RuleRow | UnreadableRule]:
    statement = select(alert_rules).order_by(alert_rules.c.group_name, alert_rules.c.name)
    return [_row(row) for row in session.execute(statement)]


def _row(row: Any) -> RuleRow | UnreadableRule:  # noqa: ANN401 - a row of the driver
    try:
        rule = read_rule(row.body)
    except (RuleError, TypeError, ValueError, AttributeError) as error:  # a body may have any shape
        reason = str(error) if isinstance(error, RuleError) else "a field has another shape"
        return UnreadableRule(row.id, row.public_id, row.origin, row.name, row.body, reason)
    return RuleRow(row.id, row.public_id, row.origin, row.version, row.created_at, row.updated_at, row.author, rule)
