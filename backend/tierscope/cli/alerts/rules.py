"""`tierscope rules`: alert rules as files: test and check them without a service, export and import them with one."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NoReturn

import typer

from tierscope.cli.base.exits import BAD_USAGE, FAILED, fail, print_json
from tierscope.cli.base.options import AsJson, Demo

if TYPE_CHECKING:
    from tierscope.domain.alerts.problems import RuleProblem
    from tierscope.domain.alerts.rule_tests import Failure
    from tierscope.domain.alerts.rules import Rule

app = typer.Typer(help="Alert rules as files: test, check, export, import.", no_args_is_help=True)

RuleFile = Annotated[Path, typer.Argument(help="A YAML file (docs/howto/alerts.md).")]
Form = Literal["yaml", "prometheus"]


@app.command("test")
def run_tests(file: RuleFile, as_json: AsJson = False) -> None:
    """Run the tests of a file. Needs no service. Exit status 1 where one fails."""
    from tierscope.domain.alerts.files import load_yaml
    from tierscope.domain.alerts.problems import RuleError
    from tierscope.domain.alerts.rule_tests import read_tests, run_test

    try:
        document = load_yaml(_read(file))
        if not isinstance(document, dict):
            fail(f"{file} has no tests", next_step="write `tests:` (docs/howto/alerts.md)", status=BAD_USAGE)
        rules = _rules_of(document, file)
        tests = read_tests(document.get("tests"))
        failures = [failure for test in tests for failure in run_test(test, rules)]
    except RuleError as error:
        _refuse(error.problem)
    if as_json:
        print_json({"tests": len(tests), "failures": [_failure(failure) for failure in failures]})
    else:
        for failure in failures:
            expected = failure.expected
            text = f"{expected.rule} on {expected.subject} at {expected.minute}m is {failure.found}"
            typer.echo(f"FAILED  {failure.test}: {text}, expected {expected.state}")
        typer.echo(f"{len(tests)} tests, {len(failures)} expectations failed")
    if failures:
        raise typer.Exit(FAILED)


@app.command()
def check(file: RuleFile, as_json: AsJson = False) -> None:
    """Check the rules of a file. Needs no service. Exit status 1 where one cannot be used."""
    from tierscope.domain.alerts.files import read_rules
    from tierscope.domain.alerts.problems import RuleError
    from tierscope.domain.alerts.prometheus import why_not_exported
    from tierscope.usecases.alerts.rules import check_view

    try:
        rules = read_rules(_read(file))
    except RuleError as error:
        _refuse(error.problem)
    views = [(rule, check_view(rule)) for rule in rules]
    if as_json:
        print_json([{"name": rule.name, **asdict(view)} for rule, view in views])
    for rule, view in [] if as_json else views:
        for problem in view.problems:
            typer.echo(f"{rule.name}: {problem.at}: {problem.message} {problem.next_step}")
        if view.ok:
            reason = why_not_exported(rule)
            typer.echo(f"{rule.name}: good" + (f" (not in a Prometheus export: {reason})" if reason else ""))
    if any(not view.ok for _, view in views):
        raise typer.Exit(FAILED)


@app.command("export")
def export_rules(
    form: Annotated[Form, typer.Option("--format", help="As a file of ours, or of Prometheus.")] = "yaml",
    shipped: Annotated[bool, typer.Option("--shipped", help="Those of this version; needs no service.")] = False,
    demo: Demo = False,
) -> None:
    """Print the rules of the service as a file."""
    if shipped:
        from tierscope.domain.alerts.files import write_rules
        from tierscope.domain.alerts.prometheus import export_rules as to_prometheus
        from tierscope.usecases.alerts.rules import shipped_rules

        rules = shipped_rules()
        typer.echo(write_rules(rules) if form == "yaml" else to_prometheus(rules), nl=False)
        return
    from tierscope.cli.base.service import open_service

    with open_service(demo=demo) as client:
        typer.echo(client.export_rules(format=form), nl=False)


@app.command("import")
def import_rules(file: RuleFile, demo: Demo = False, as_json: AsJson = False) -> None:
    """Add the rules of a file to the service, and change those of the same name; all or none."""
    from tierscope.cli.base.service import open_service

    text = _read(file)
    with open_service(demo=demo) as client:
        done = client.import_rules({"yaml": text})
    if as_json:
        print_json(done)
        return
    for what, names in (("added", done["added"]), ("changed", done["changed"]), ("unchanged", done["unchanged"])):
        for name in names:
            typer.echo(f"{what:9}  {name}")


def _rules_of(document: dict[str, Any], file: Path) -> list[Rule]:
    """The rules that a file of tests is about: its own, those of the files it names, and the shipped ones."""
    from tierscope.domain.alerts.files import read_entries, read_rules
    from tierscope.usecases.alerts.rules import shipped_rules

    rules = read_entries(document["rules"]) if document.get("rules") else []
    for name in document.get("rule_files") or ():
        rules += read_rules(_read(file.parent / str(name)))
    named = {rule.name for rule in rules}
    return [*rules, *(rule for rule in shipped_rules() if rule.name not in named)]


def _read(file: Path) -> str:
    try:
        return file.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        fail(f"{file} cannot be read: {error}", next_step="give the path of a YAML file", status=BAD_USAGE)


def _refuse(problem: RuleProblem) -> NoReturn:
    fail(f"{problem.at}: {problem.message}", next_step=problem.next_step, status=BAD_USAGE)


def _failure(failure: Failure) -> dict[str, Any]:
    return {"test": failure.test, **asdict(failure.expected), "found": failure.found}
