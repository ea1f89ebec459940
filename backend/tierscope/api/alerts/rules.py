"""Alert rules: list, check, try on history, change, files in and out."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Query, Request, Response

from tierscope.api.alerts.backtest_answers import BacktestRequest
from tierscope.api.alerts.rule_answers import CheckRequest, ImportRequest, Rule, RuleList, RuleRequest, Vocabulary
from tierscope.api.alerts.rule_views import describe_vocabulary, rule_answer
from tierscope.api.base.answers import Answer, answer, answer_bytes
from tierscope.api.base.limited import COSTLY
from tierscope.api.base.permissions import requires
from tierscope.api.base.tables import tabular
from tierscope.api.base.use_cases import use
from tierscope.domain.base.copying import copied
from tierscope.usecases.access.tokens import Caller
from tierscope.usecases.alerts.backtest import Backtest, Backtests
from tierscope.usecases.alerts.backtest import BacktestRequest as Asked
from tierscope.usecases.alerts.rules import Imported, RuleCheck, Rules

router = APIRouter(prefix="/v1/rules", tags=["alerts"])

Use = Annotated[Rules, Depends(use(lambda held: held.rules))]
Writer = Annotated[Caller, Depends(requires("write:rules"))]
_YAML: dict[int | str, dict[str, Any]] = {200: {"content": {"application/yaml": {"schema": {}}}}}
_READ = [Depends(requires("read:fleet"))]


@router.get("", dependencies=_READ, summary="Alert rules")
@tabular("items", quick=True)
def list_rules(request: Request, rules: Use) -> Answer[RuleList]:
    """All rules, by group and name, with how many subjects are in each state."""
    return answer(request, RuleList, RuleList(items=[rule_answer(view) for view in rules.list()]))


@router.post("", status_code=201, summary="Add a rule")
def create_rule(body: RuleRequest, rules: Use, caller: Writer) -> Rule:
    """Store a rule. It is judged from the next complete minute on."""
    return rule_answer(rules.create(body.to_rule(), actor=caller.name))


@router.get("/vocabulary", dependencies=_READ, summary="What conditions can name")
def read_vocabulary(request: Request) -> Answer[Vocabulary]:
    """Series with their units and scopes, functions, units and placeholders."""
    return answer(request, Vocabulary, describe_vocabulary())


@router.post("/check", dependencies=[*_READ, COSTLY], summary="Check a rule")
def check_rule(body: CheckRequest, request: Request, rules: Use) -> Answer[RuleCheck]:
    """All that is wrong with a rule, with column, cause and next step; nothing is stored."""
    return answer(request, RuleCheck, rules.check(body.rule.to_rule()))


@router.post("/backtest", dependencies=[*_READ, COSTLY], summary="What a rule would have done")
def run_backtest(
    body: BacktestRequest,
    request: Request,
    runs: Annotated[Backtests, Depends(use(lambda held: held.backtests))],
) -> Answer[Backtest]:
    """Run a rule over stored minutes, with the same condition and states as live evaluation. Nothing is stored."""
    asked = copied(Asked, body, rule=body.rule.to_rule(), hosts=tuple(body.hosts), services=tuple(body.services))
    return answer(request, Backtest, runs.run(asked))


@router.get(
    "/export",
    response_class=Response,
    responses=_YAML,
    dependencies=[*_READ, COSTLY],
    summary="Rules as a file",
)
def export_rules(
    request: Request, rules: Use, format_: Annotated[Literal["yaml", "prometheus"], Query(alias="format")] = "yaml"
) -> Response:
    """All rules as YAML, or the enabled ones as Prometheus has them; what it cannot express is named there."""
    text = rules.export_yaml() if format_ == "yaml" else rules.export_prometheus()
    return answer_bytes(request, text.encode(), "application/yaml")


@router.post("/import", summary="Rules from a file")
def import_rules(body: ImportRequest, rules: Use, caller: Writer) -> Imported:
    """Add the rules of a file and change those that have the name of one of them; all or none."""
    return rules.import_file(body.yaml, actor=caller.name)


@router.get("/{rule_id}", dependencies=_READ, summary="One rule")
def read_rule(request: Request, rules: Use, rule_id: str) -> Answer[Rule]:
    """A rule with where it stands."""
    return answer(request, Rule, rule_answer(rules.get(rule_id)))


@router.put("/{rule_id}", summary="Change a rule")
def update_rule(body: RuleRequest, rules: Use, caller: Writer, rule_id: str) -> Rule:
    """Put another rule in its place. Of a shipped rule only `enabled` can change."""
    return rule_answer(rules.update(rule_id, body.to_rule(), actor=caller.name))


@router.delete("/{rule_id}", status_code=204, summary="Remove a rule")
def delete_rule(rules: Use, caller: Writer, rule_id: str) -> None:
    """Remove a rule; its open alerts are resolved, its history stays."""
    rules.delete(rule_id, actor=caller.name)
