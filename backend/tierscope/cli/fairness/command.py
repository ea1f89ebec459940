"""`tierscope fairness`: who holds how much of a host's top tier, against what is fair, and who pushed whom out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from tierscope.cli.base.exits import NOT_ENOUGH_DATA, print_json
from tierscope.cli.base.figures import figure_text
from tierscope.core.settings import Settings
from tierscope.domain.fairness.vocabulary import Basis

if TYPE_CHECKING:
    from tierscope.domain.base.figures import Figure
    from tierscope.usecases.fairness.answers import HostFairness, Push, TenantKind, TenantShare
    from tierscope.usecases.fairness.limit_answers import HostLimits, TenantLimit
    from tierscope.usecases.fairness.limits import WantedLimits


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(fairness)


def fairness(
    host: Annotated[str, typer.Argument(help="Name or id of a host.")],
    *,
    from_: Annotated[str, typer.Option("--from", help="Start of the window.")] = "-6h",
    to: Annotated[str | None, typer.Option(help="End of the window.")] = None,
    cgroups: Annotated[bool, typer.Option("--cgroups", help="Control groups instead of services.")] = False,
    basis: Annotated[Basis | None, typer.Option(help="What is fair; by default hot memory, where measured.")] = None,
    protect: Annotated[
        list[str] | None, typer.Option(help="Replay with this memory.low, as SERVICE=BYTES. Repeat it.")
    ] = None,
    limit: Annotated[
        list[str] | None, typer.Option(help="Replay with this limit of the top tier, as SERVICE=BYTES. Repeat it.")
    ] = None,
    replay: Annotated[bool, typer.Option("--replay", help="Replay with the protection that is proposed.")] = False,
    demo: Annotated[bool, typer.Option("--demo", help="Use the demo instance.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the answer of the API as JSON.")] = False,
) -> None:
    """Compare what services of a host hold of its top tier with their fair shares."""
    from pydantic import TypeAdapter

    from tierscope.cli.base.database import open_fleet
    from tierscope.core.clock import utc_now
    from tierscope.usecases.base.context import ReadContext
    from tierscope.usecases.base.subjects import host_named
    from tierscope.usecases.fairness.answers import HostFairness
    from tierscope.usecases.fairness.limits import WantedLimits
    from tierscope.usecases.fairness.reads import FairnessReads

    settings = Settings()
    if protect or limit or replay:
        _replay(host, WantedLimits.parse(protect or [], limit or []), basis, from_, to, demo=demo, as_json=as_json)
        return
    with open_fleet(settings, demo=demo) as database:
        reads = FairnessReads(ReadContext(database, utc_now, settings))
        by: TenantKind = "cgroup" if cgroups else "service"
        found = reads.host(host_named(database, host), by=by, basis=basis, from_=from_, to=to, max_points=500)
    if as_json:
        print_json(TypeAdapter(HostFairness).dump_python(found, mode="json"))
    else:
        typer.echo(_describe(found))
    if not found.tenants:
        raise typer.Exit(NOT_ENOUGH_DATA)


def _replay(
    host: str, wanted: WantedLimits, basis: Basis | None, from_: str, to: str | None, *, demo: bool, as_json: bool
) -> None:
    from pydantic import TypeAdapter

    from tierscope.cli.base.database import open_fleet
    from tierscope.core.clock import utc_now
    from tierscope.usecases.base.context import ReadContext
    from tierscope.usecases.base.subjects import host_named
    from tierscope.usecases.fairness.limit_answers import HostLimits
    from tierscope.usecases.fairness.limits import LimitReads

    settings = Settings()
    with open_fleet(settings, demo=demo) as database:
        reads = LimitReads(ReadContext(database, utc_now, settings))
        found = reads.host(host_named(database, host), wanted, basis=basis, from_=from_, to=to)
    if as_json:
        print_json(TypeAdapter(HostLimits).dump_python(found, mode="json"))
    else:
        typer.echo(_describe_limits(found))
    if found.reason is not None:
        raise typer.Exit(NOT_ENOUGH_DATA)


def _describe_limits(found: HostLimits) -> str:
    label = " (simulated host)" if found.origin == "simulated" else ""
    lines = [f"{found.host}{label}, replayed under {found.policy_label}: {found.policy_why}."]
    if found.reason is not None:
        return "\n".join([*lines, f"Not replayed: {found.reason}", *found.notes])
    lines += [found.proposal_note, ""]
    for tenant in found.tenants:
        lines.append(f"{tenant.name:32} fair share {_size(tenant.fair_bytes)}{_settings(tenant)}")
        for name, outcome in (("before", tenant.before), ("after", tenant.after)):
            local, loss = _percent(outcome.local_ratio), _percent(outcome.loss_ratio)
            lines.append(f"  {name:6} holds {_size(outcome.top_bytes)}, local {local}, expected loss {loss}")
        lines.append(f"  local share changes by {_percent(tenant.local_change)}")
    return "\n".join([*lines, "", *found.notes])


def _settings(tenant: TenantLimit) -> str:
    named = (("memory.low", tenant.low_bytes), ("at most", tenant.top_max_bytes))
    return "".join(f", {name} {size / 2**20:,.1f} MiB" for name, size in named if size is not None)


def _percent(figure: Figure) -> str:
    return figure_text(figure, "{:.1%}".format)


def _describe(found: HostFairness) -> str:
    label = " (simulated)" if found.origin == "simulated" else ""
    lines = [f"{found.host}{label}: top tier {_size(found.top_bytes)}, held by these {_size(found.held_bytes)}."]
    lines += [f"Fair: {found.basis}. {found.basis_note}", ""]
    lines += [_tenant(tenant, found.basis) for tenant in found.tenants]
    names = {tenant.id: tenant.name for tenant in found.tenants}
    if found.pushes:
        lines += ["", "Demoted while another took memory of the top tier (pages, between bounds):"]
        lines += [_push(push, names) for push in found.pushes]
    return "\n".join([*lines, "", *found.notes])


def _tenant(tenant: TenantShare, basis: Basis) -> str:
    fair = next(share for share in tenant.fair if share.basis == basis)
    return (
        f"{tenant.name:32} holds {_size(tenant.top_bytes)}, fair {_size(fair.fair_bytes)},"
        f" over {_size(fair.over_bytes)}{_between(fair.over_bytes)}"
    )


def _push(push: Push, names: dict[str, str]) -> str:
    taker = "rest of the host" if push.taker is None else names[push.taker]
    around = push.pages.interval
    bounds = "" if around is None else f" [{around.lo:,.0f}, {around.hi:,.0f}]"
    return f"  {names[push.victim]} <- {taker}: {push.pages.value or 0.0:,.0f}{bounds}, {push.sureness}"


def _size(figure: Figure) -> str:
    if figure.value is None:
        return f"not known ({figure.reason})"
    return f"{figure.value / 2**20:,.1f} MiB"


def _between(figure: Figure) -> str:
    around = figure.interval
    return "" if around is None else f" [{around.lo / 2**20:,.1f}, {around.hi / 2**20:,.1f}; {around.kind}]"
