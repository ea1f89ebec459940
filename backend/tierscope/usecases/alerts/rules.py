"""Alert rules: list, check, add, change, remove; files in and out; the shipped set."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from importlib import resources
from typing import Annotated

from tierscope.core.database import ReadSession, WriteTransaction
from tierscope.core.errors import Conflict, NotFound, Unprocessable
from tierscope.domain.alerts.files import read_rules, rule_entry, write_rules
from tierscope.domain.alerts.frame import MINUTE_S
from tierscope.domain.alerts.problems import RuleError, RuleProblem
from tierscope.domain.alerts.prometheus import export_rules
from tierscope.domain.alerts.rules import Rule, check_rule, says_the_same
from tierscope.domain.base.described import Described
from tierscope.storage.access.credentials import AuditRow, append_audit
from tierscope.storage.alerts import rules as stored
from tierscope.storage.alerts.rows import count_open, lock_alerts
from tierscope.storage.alerts.rules import RuleRow, RuleStanding, UnreadableRule
from tierscope.storage.fleet.sending import longest_held_seconds
from tierscope.usecases.alerts.closing import close_alerts
from tierscope.usecases.alerts.frames import ARRIVAL_SECONDS, SETTLING_SECONDS
from tierscope.usecases.alerts.subjects import Fleet
from tierscope.usecases.base.context import ClockedUseCase

MAX_RULES = 1000
_SHIPPED = "shipped_rules.yaml"


@dataclass(frozen=True, slots=True)
class StateCounts:
    """Subjects of a rule by state."""

    ok: int = 0
    pending: int = 0
    firing: int = 0
    no_data: int = 0


@dataclass(frozen=True, slots=True)
class RuleView:
    """A rule with where it stands. `judged_after_seconds`: how long after its end a minute is judged."""

    row: RuleRow
    counts: StateCounts
    evaluated_to: datetime | None
    judged_after_seconds: int


@dataclass(frozen=True, slots=True)
class RuleCheck:
    """Whether a rule can be used, and how its condition is understood."""

    ok: bool
    problems: tuple[RuleProblem, ...]
    normal_form: str | None
    unit: str | None
    threshold: float | None
    inputs: Annotated[tuple[str, ...], Described("Stored series that it needs.")]
    lookback_seconds: int


@dataclass(frozen=True, slots=True)
class Imported:
    """What a file did, by name."""

    added: tuple[str, ...]
    changed: tuple[str, ...]
    unchanged: tuple[str, ...]


class Rules(ClockedUseCase):
    """Alert rules."""

    def list(self) -> tuple[RuleView, ...]:
        """All rules, by group and name."""
        with self._database.read() as session:
            return _views(session, stored.list_rules(session))

    def get(self, rule_id: str) -> RuleView:
        """One rule.

        Raises:
            NotFound: there is no such rule.
        """
        with self._database.read() as session:
            return _views(session, [_require(session, rule_id)])[0]

    def check(self, rule: Rule) -> RuleCheck:
        """All that is wrong with a rule, or how its condition is understood."""
        return check_view(rule)

    def create(self, rule: Rule, *, actor: str) -> RuleView:
        """Store a rule.

        Raises:
            Unprocessable: it cannot be used; names the first problem.
            Conflict: the name is taken, or there are as many rules as there may be.
        """
        require_checked(rule)
        now = self._clock()
        with self._database.write() as transaction:
            lock_alerts(transaction, wait=True)
            _require_free(transaction, rule.name)
            if stored.count_rules(transaction) >= MAX_RULES:
                raise Conflict(f"there are {MAX_RULES} rules", next_step="Remove rules that nobody needs.")
            public_id = "r" + secrets.token_hex(8)
            stored.insert_rule(transaction, public_id, rule, origin="own", author=actor, now=now)
            append_audit(transaction, AuditRow(now, actor, "rule.create", public_id, rule_entry(rule)))
            return _views(transaction, [_require(transaction, public_id)])[0]

    def update(self, rule_id: str, rule: Rule, *, actor: str) -> RuleView:
        """Put another rule in its place. Where it says something else of the same minutes, its states start over.

        Raises:
            NotFound: there is no such rule.
            Unprocessable: it cannot be used.
            Conflict: the name is taken, or more than `enabled` of a shipped rule is changed.
        """
        require_checked(rule)
        with self._database.write() as transaction:
            lock_alerts(transaction, wait=True)
            row = _require(transaction, rule_id)
            if row.origin == "shipped" and replace(rule, enabled=row.rule.enabled) != row.rule:
                raise Conflict(
                    f"`{row.rule.name}` is shipped: it can be switched on and off, not changed",
                    next_step="Save it under another name and switch the shipped one off.",
                )
            if rule.name != row.rule.name:
                _require_free(transaction, rule.name)
            self._store(transaction, row, rule, actor)
            return _views(transaction, [_require(transaction, rule_id)])[0]

    def delete(self, rule_id: str, *, actor: str) -> None:
        """Remove a rule, one that cannot be read too; its open alerts are resolved, its history stays.

        Raises:
            NotFound: there is no such rule.
            Conflict: it is a shipped one.
        """
        now = self._clock()
        with self._database.write() as transaction:
            lock_alerts(transaction, wait=True)
            row = stored.find_rule(transaction, rule_id)
            if row is None:
                raise _unknown(rule_id)
            if isinstance(row, RuleRow) and row.origin == "shipped":
                raise Conflict(f"`{row.rule.name}` is shipped", next_step="Switch it off instead.")
            detail = rule_entry(row.rule) if isinstance(row, RuleRow) else {"name": row.name, "body": row.body}
            close_alerts(transaction, row.id, now=now, reason="rule deleted")
            stored.delete_rule(transaction, row.id)
            append_audit(transaction, AuditRow(now, actor, "rule.delete", row.public_id, detail))

    def export_yaml(self) -> str:
        """All rules as a file."""
        with self._database.read() as session:
            return write_rules([row.rule for row in stored.list_rules(session)])

    def export_prometheus(self) -> str:
        """The enabled rules as Prometheus has them; those that it cannot have are named with the reason."""
        with self._database.read() as session:
            return export_rules([row.rule for row in stored.list_rules(session) if row.rule.enabled])

    def import_file(self, text: str, *, actor: str) -> Imported:
        """Add the rules of a file, and change those that have the name of one of them.

        Raises:
            Unprocessable: a rule cannot be used; nothing is stored then.
            Conflict: a shipped rule would be changed.
        """
        rules = read_file(text)
        done: dict[str, list[str]] = {"added": [], "changed": [], "unchanged": []}
        now = self._clock()
        with self._database.write() as transaction:
            lock_alerts(transaction, wait=True)
            for rule in rules:
                row = stored.find_rule_named(transaction, rule.name)
                if row is None:
                    public_id = "r" + secrets.token_hex(8)
                    stored.insert_rule(transaction, public_id, rule, origin="own", author=actor, now=now)
                    append_audit(transaction, AuditRow(now, actor, "rule.create", public_id, rule_entry(rule)))
                    done["added"].append(rule.name)
                elif isinstance(row, UnreadableRule):
                    raise Conflict(
                        f"`{rule.name}` is stored and cannot be read: {row.reason}",
                        next_step=f"Delete it first: DELETE /v1/rules/{row.public_id}.",
                    )
                elif row.rule == rule:
                    done["unchanged"].append(rule.name)
                elif row.origin == "shipped" and replace(rule, enabled=row.rule.enabled) != row.rule:
                    raise Conflict(f"`{rule.name}` is shipped", next_step="Give the rule of the file another name.")
                else:
                    self._store(transaction, row, rule, actor)
                    done["changed"].append(rule.name)
            if stored.count_rules(transaction) > MAX_RULES:
                raise Conflict(f"there would be more than {MAX_RULES} rules", next_step="Remove some.")
        return Imported(tuple(done["added"]), tuple(done["changed"]), tuple(done["unchanged"]))

    def _store(self, transaction: WriteTransaction, row: RuleRow, rule: Rule, actor: str) -> None:
        now = self._clock()
        put_rule(transaction, row, rule, author=actor, now=now)
        append_audit(transaction, AuditRow(now, actor, "rule.update", row.public_id, rule_entry(rule)))


def put_rule(transaction: WriteTransaction, row: RuleRow, rule: Rule, *, author: str | None, now: datetime) -> None:
    """Store a rule in another's place. The caller holds the lock of alerts."""
    anew = not says_the_same(row.rule, rule)
    if anew or not rule.enabled:
        close_alerts(transaction, row.id, now=now, reason="rule changed" if anew else "rule switched off")
        stored.drop_states(transaction, row.id)
    stored.replace_rule(transaction, row.id, rule, version=row.version + anew, author=author, now=now)


def store_shipped(transaction: WriteTransaction, *, now: datetime) -> None:
    """Bring the shipped rules to what this version ships. Whether one is switched on stays as people set it.

    A shipped rule that cannot be read is stored again; a name that such a rule of people has taken is passed over.
    """
    rules = shipped_rules()
    names = {rule.name for rule in rules}
    by_name = stored.rules_by_name(transaction)
    for row in by_name.values():
        if isinstance(row, RuleRow) and row.origin == "shipped" and row.rule.name not in names:
            close_alerts(transaction, row.id, now=now, reason="rule deleted")
            stored.delete_rule(transaction, row.id)
    for rule in rules:
        found = by_name.get(rule.name)
        if isinstance(found, UnreadableRule):
            if found.origin == "own":
                continue
            close_alerts(transaction, found.id, now=now, reason="rule deleted")
            stored.delete_rule(transaction, found.id)
            found = None
        if found is None:
            public_id = f"shipped-{rule.name}"
            stored.insert_rule(transaction, public_id, rule, origin="shipped", author=None, now=now)
        elif found.origin == "shipped":
            wanted = replace(rule, enabled=found.rule.enabled)
            if wanted != found.rule:
                put_rule(transaction, found, wanted, author=None, now=now)


@cache
def shipped_rules() -> tuple[Rule, ...]:
    """The rules that come with this version. Read once: every evaluation asks for them."""
    return tuple(read_rules(resources.files("tierscope.usecases.alerts").joinpath(_SHIPPED).read_text("utf-8")))


def read_file(text: str) -> list[Rule]:
    """The rules of a file, each checked.

    Raises:
        Unprocessable: the file or a rule cannot be used.
    """
    try:
        rules = read_rules(text)
    except RuleError as error:
        problem = error.problem
        raise Unprocessable(f"{problem.at}: {problem.message}", next_step=problem.next_step) from error
    for rule in rules:
        require_checked(rule, f"{rule.name}: ")
    return rules


def check_view(rule: Rule) -> RuleCheck:
    """All that is wrong with a rule, or how it is understood."""
    checked, problems = check_rule(rule)
    if checked is None:
        return RuleCheck(
            ok=False,
            problems=tuple(problems),
            normal_form=None,
            unit=None,
            threshold=None,
            inputs=(),
            lookback_seconds=0,
        )
    condition = checked.condition
    return RuleCheck(
        ok=True,
        problems=(),
        normal_form=condition.normal_form,
        unit=condition.unit_name,
        threshold=condition.threshold,
        inputs=tuple(sorted(checked.inputs)),
        lookback_seconds=60 * checked.lookback,
    )


def require_checked(rule: Rule, prefix: str = "") -> None:
    """Refuse a rule that cannot be used.

    Raises:
        Unprocessable: names the first problem.
    """
    _, problems = check_rule(rule)
    if problems:
        first = problems[0]
        raise Unprocessable(f"{prefix}{first.at}: {first.message}", next_step=first.next_step)


def _require(session: ReadSession, rule_id: str) -> RuleRow:
    row = stored.find_rule(session, rule_id)
    if row is None:
        raise _unknown(rule_id)
    if isinstance(row, UnreadableRule):
        raise NotFound(
            f"the stored rule {row.name!r} cannot be read: {row.reason}",
            next_step=f"Delete it (DELETE /v1/rules/{row.public_id}) and add it again.",
        )
    return row


def _unknown(rule_id: str) -> NotFound:
    return NotFound(f"there is no rule {rule_id[:80]!r}", next_step="List them with GET /v1/rules.")


def _require_free(session: ReadSession, name: str) -> None:
    if stored.find_rule_named(session, name) is not None:
        raise Conflict(f"there is a rule `{name}` already", next_step="Give it another name, or change that one.")


def _views(session: ReadSession, rows: Sequence[RuleRow]) -> tuple[RuleView, ...]:
    standings = stored.read_standings(session)
    opened = count_open(session)
    # Where no host holds samples back, the fleet is not read for it.
    fleet = Fleet.read(session) if longest_held_seconds(session) else None
    return tuple(
        RuleView(row, _counts(row, standings.get(row.id), opened), _to(standings.get(row.id)), _delay(row.rule, fleet))
        for row in rows
    )


def _delay(rule: Rule, fleet: Fleet | None) -> int:
    """How long after its end a minute is judged: late data has arrived by then, and what hosts hold back."""
    held = 0 if fleet is None else fleet.held_minutes(fleet.subjects(rule.scope)) * MINUTE_S
    return int(ARRIVAL_SECONDS + SETTLING_SECONDS) + held


def _to(standing: RuleStanding | None) -> datetime | None:
    return None if standing is None else standing.evaluated_to


def _counts(row: RuleRow, standing: RuleStanding | None, opened: dict[tuple[int, str], int]) -> StateCounts:
    known = {} if standing is None else standing.counts
    return StateCounts(
        ok=known.get("ok", 0),
        pending=opened.get((row.id, "pending"), 0),
        firing=opened.get((row.id, "firing"), 0),
        no_data=known.get("no_data", 0),
    )
