"""From rules as stored to answers."""

from tierscope.api.alerts.rule_answers import (
    Counted,
    FunctionItem,
    Rule,
    RuleScope,
    ScopeMatcher,
    Vocabulary,
    VocabularyItem,
)
from tierscope.domain.alerts.catalogue import dotted_names, find_catalogue
from tierscope.domain.alerts.checking import FUNCTIONS
from tierscope.domain.alerts.rules import INTERVAL_SECONDS
from tierscope.domain.alerts.templates import PLACEHOLDERS
from tierscope.domain.alerts.units import PER_SECOND, UNIT_NAMES
from tierscope.domain.alerts.vocabulary import Series, all_series
from tierscope.domain.base.copying import copied
from tierscope.usecases.alerts.rules import RuleView, StateCounts, check_view


def rule_answer(view: RuleView) -> Rule:
    """A stored rule as the API answers it."""
    row, rule = view.row, view.row.rule
    checked = check_view(rule)
    matchers = [ScopeMatcher(name=m.name, op=m.operator, value=m.value) for m in rule.scope.labels]
    return Rule(
        id=row.public_id,
        name=rule.name,
        group=rule.group,
        origin=row.origin,
        enabled=rule.enabled,
        expression=rule.expression,
        normal_form=checked.normal_form or rule.expression,
        unit=checked.unit or "",
        threshold=checked.threshold,
        scope=RuleScope(
            kind=rule.scope.kind,
            hosts=list(rule.scope.hosts),
            services=list(rule.scope.services),
            labels=matchers,
        ),
        for_seconds=rule.for_seconds,
        keep_firing_for_seconds=rule.keep_firing_for_seconds,
        recovery_expression=rule.recovery_expression,
        recovery_threshold=rule.recovery_threshold,
        n_of_m=None if rule.m == 1 else Counted(n=rule.n, m=rule.m),
        no_data=rule.no_data,
        no_data_after_seconds=rule.no_data_after_seconds,
        severity=rule.severity,
        labels=dict(rule.labels),
        summary=rule.summary,
        description=rule.description,
        runbook_url=rule.runbook_url,
        interval_seconds=INTERVAL_SECONDS,
        state_counts=copied(StateCounts, view.counts),
        evaluated_to=view.evaluated_to,
        judged_after_seconds=view.judged_after_seconds,
        created_at=row.created_at,
        updated_at=row.updated_at,
        author=row.author,
    )


def describe_vocabulary() -> Vocabulary:
    """Everything that conditions can be made of."""
    catalogue = [(name, find_catalogue(name, ())) for name in dotted_names()]
    items = [_item(series.key, series, in_catalogue=False) for series in all_series().values()]
    items += [_item(name, series, in_catalogue=True) for name, series in catalogue if series is not None]
    return Vocabulary(
        series=items,
        functions=[FunctionItem(name=name, meaning=meaning) for name, meaning in FUNCTIONS.items()],
        units=list(UNIT_NAMES),
        placeholders=[*PLACEHOLDERS, "labels.<name>"],
    )


def _item(name: str, series: Series, *, in_catalogue: bool) -> VocabularyItem:
    unit = series.unit.times(PER_SECOND) if series.kind == "flow" else series.unit
    picks = ["node", "tier"] if in_catalogue and "host" in series.scopes else []
    return VocabularyItem(
        name=name,
        kind=series.kind,
        unit="state" if series.words else str(unit) or "ratio",
        scopes=list(series.scopes),
        meaning=series.meaning,
        words=list(series.words),
        expression=series.expression or None,
        picks=picks,
        in_catalogue=in_catalogue,
    )
