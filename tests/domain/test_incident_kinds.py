"""What an incident is about is told by what its rule watches, whatever the rule is called."""

import pytest

from tierscope.domain.alerts.rules import Rule, Scope, check_rule
from tierscope.usecases.alerts.incident import kind_of


@pytest.mark.parametrize(
    ("expression", "kind"),
    [
        ("days_to_exhaustion_early < 30d", "capacity"),
        ("rate(allocation_spill, 20m) > 1000/s and free_dram_ratio < 5%", "spill"),
        ("agent_report_age > 10m", "agent"),
        ("agent_samples_lost_ratio > 5%", "agent"),
        ("promoted_pages > 1000/s", "tiering"),
    ],
)
def test_the_kind_of_an_incident_is_what_its_rule_watches(expression: str, kind: str) -> None:
    checked, problems = check_rule(Rule("own", expression, scope=Scope("service" if kind == "capacity" else "host")))
    assert checked is not None, problems
    assert kind_of(checked.inputs) == kind
