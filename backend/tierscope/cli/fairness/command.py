"""`tierscope fairness`: who holds how much of a host's top tier, against what is fair, and who pushed whom out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from tierscope.cli.base.exits import NOT_ENOUGH_DATA, print_answer
from tierscope.cli.base.figures import figure_text
from tierscope.cli.base.options import AsJson, Demo, To
from tierscope.domain.fairness.vocabulary import Basis

if TYPE_CHECKING:
    from tierscope_client import models


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(fairness)


def fairness(
    host: Annotated[str, typer.Argument(help="Name or id of a host.")],
    *,
    from_: Annotated[str, typer.Option("--from", help="Start of the window.")] = "-6h",
    to: To = None,
    cgroups: Annotated[bool, typer.Option("--cgroups", help="Control groups instead of services.")] = False,
    basis: Annotated[Basis | None, typer.Option(help="What is fair; by default hot memory, where measured.")] = None,
    protect: Annotated[
        list[str] | None, typer.Option(help="Replay with this memory.low, as SERVICE=BYTES. Repeat it.")
    ] = None,
    limit: Annotated[
        list[str] | None, typer.Option(help="Replay with this limit of the top tier, as SERVICE=BYTES. Repeat it.")
    ] = None,
    replay: Annotated[bool, typer.Option("--replay", help="Replay with the protection that is proposed.")] = False,
    demo: Demo = False,
    as_json: AsJson = False,
) -> None:
    """Compare what services of a host hold of its top tier with their fair shares."""
    from tierscope.cli.base.service import host_id, open_service

    with open_service(demo=demo) as client:
        named = host_id(client, host)
        if protect or limit or replay:
            limits = client.read_host_limits(
                named, protect=protect or [], limit=limit or [], basis=basis, from_=from_, to=to
            )
            print_answer(limits, _describe_limits, as_json=as_json)
            enough = limits["reason"] is None
        else:
            by: Literal["cgroup", "service"] = "cgroup" if cgroups else "service"
            found = client.read_host_fairness(named, by=by, basis=basis, from_=from_, to=to, max_points=500)
            print_answer(found, _describe, as_json=as_json)
            enough = bool(found["tenants"])
    if not enough:
        raise typer.Exit(NOT_ENOUGH_DATA)


def _describe_limits(found: models.HostLimits) -> str:
    label = " (simulated host)" if found["origin"] == "simulated" else ""
    lines = [f"{found['host']}{label}, replayed under {found['policy_label']}: {found['policy_why']}."]
    if found["reason"] is not None:
        return "\n".join([*lines, f"Not replayed: {found['reason']}", *found["notes"]])
    lines += [found["proposal_note"], ""]
    for tenant in found["tenants"]:
        lines.append(f"{tenant['name']:32} fair share {_size(tenant['fair_bytes'])}{_settings(tenant)}")
        for name, outcome in (("before", tenant["before"]), ("after", tenant["after"])):
            local, loss = _percent(outcome["local_ratio"]), _percent(outcome["loss_ratio"])
            lines.append(f"  {name:6} holds {_size(outcome['top_bytes'])}, local {local}, expected loss {loss}")
        lines.append(f"  local share changes by {_percent(tenant['local_change'])}")
    return "\n".join([*lines, "", *found["notes"]])


def _settings(tenant: models.TenantLimit) -> str:
    named = (("memory.low", tenant["low_bytes"]), ("at most", tenant["top_max_bytes"]))
    return "".join(f", {name} {size / 2**20:,.1f} MiB" for name, size in named if size is not None)


def _percent(figure: models.Figure) -> str:
    return figure_text(figure, "{:.1%}".format)


def _describe(found: models.HostFairness) -> str:
    label = " (simulated)" if found["origin"] == "simulated" else ""
    held = f"held by these {_size(found['held_bytes'])}"
    lines = [f"{found['host']}{label}: top tier {_size(found['top_bytes'])}, {held}."]
    lines += [f"Fair: {found['basis']}. {found['basis_note']}", ""]
    lines += [_tenant(tenant, found["basis"]) for tenant in found["tenants"]]
    names = {tenant["id"]: tenant["name"] for tenant in found["tenants"]}
    if found["pushes"]:
        lines += ["", "Demoted while another took memory of the top tier (pages, between bounds):"]
        lines += [_push(push, names) for push in found["pushes"]]
    return "\n".join([*lines, "", *found["notes"]])


def _tenant(tenant: models.TenantShare, basis: Basis) -> str:
    fair = next(share for share in tenant["fair"] if share["basis"] == basis)
    around = fair["over_bytes"]["interval"]
    between = "" if around is None else f" [{around['lo'] / 2**20:,.1f}, {around['hi'] / 2**20:,.1f}; {around['kind']}]"
    return (
        f"{tenant['name']:32} holds {_size(tenant['top_bytes'])}, fair {_size(fair['fair_bytes'])},"
        f" over {_size(fair['over_bytes'])}{between}"
    )


def _push(push: models.Push, names: dict[str, str]) -> str:
    taker = "rest of the host" if push["taker"] is None else names[push["taker"]]
    around = push["pages"]["interval"]
    bounds = "" if around is None else f" [{around['lo']:,.0f}, {around['hi']:,.0f}]"
    return f"  {names[push['victim']]} <- {taker}: {push['pages']['value'] or 0.0:,.0f}{bounds}, {push['sureness']}"


def _size(figure: models.Figure) -> str:
    if figure["value"] is None:
        return f"not known ({figure['reason']})"
    return f"{figure['value'] / 2**20:,.1f} MiB"
