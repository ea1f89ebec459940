"""Fleets with their truth and their answers, kept in a directory: what is there is not run again."""

import hashlib
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from truth.advised import BEGIN_H, plans_of, with_advice
from truth.asking import HOUR_S, Asked, ask
from truth.experiments import NOTHING, enter_experiments
from truth.fleet_laws import without_faults
from truth.instance import Instance, running_instance
from truth.programs import FleetPlan, send_fleet, tell_effects, tell_losses

DRAM_SHARES = (0.95, 8 / 9, 0.8, 0.73, 2 / 3, 0.6, 0.5, 0.45, 0.4, 1 / 3, 0.3, 0.2)
"""Where losses are known, the ratios that are sold among them, and what these are of hosts that a service fills to nine
tenths; between them they are interpolated, which is too high where a loss begins to rise."""
LOSS_HOURS = 48
"""Of longer fleets losses are those of the first two days: a run for each share takes as long as the fleet."""
ADVISED = "advised for "
"""How names of experiments begin that are what the service advised."""
ANSWERED = ("ratio", "range")
"""Answers on the ratio that name one."""


@dataclass(frozen=True, slots=True)
class JudgedFleet:
    """What is known of one fleet, and what was answered. `truth` and `answers` are the stored documents."""

    plan: FleetPlan
    truth: dict[str, Any]
    answers: dict[str, Any]
    losses: list[dict[str, Any]]
    """Points of the loss curves; empty where no ratio was advised."""
    effects: list[dict[str, Any]]
    """What experiments did; empty where none was judged."""
    advised: list[dict[str, Any]]
    """What is advised for each host does, by its plans; empty where nothing was advised."""

    def windows(self, host: str, service: str | None = None) -> list[dict[str, Any]]:
        """Rows of the truth within the window that was asked for, of one service or of all on a host."""
        start_s, end_s = self.answers["start_s"], self.answers["end_s"]
        return [
            row
            for row in self.truth["windows"]
            if row["host"] == host and service in (None, row["service"]) and start_s < row["end_unix_s"] <= end_s
        ]


def folder_of(results: Path, plan: FleetPlan) -> Path:
    """Where a fleet is kept: by all that decides what it is."""
    digest = hashlib.sha256(plan.laws.encode()).hexdigest()[:10]
    return results / f"{digest}-{plan.hours}h-1-in-{plan.panel_every}" / f"seed-{plan.seed}"


def _read(path: Path) -> Any:  # noqa: ANN401 - JSON
    return json.loads(path.read_text(encoding="utf-8"))


def _write(path: Path, document: object) -> None:
    # A run that is cut off leaves no half of an answer.
    part = path.with_suffix(".part")
    part.write_text(json.dumps(document), encoding="utf-8")
    part.replace(path)


def run_fleet(plan: FleetPlan, folder: Path, *, asked: Asked = "all", keep: bool = False) -> JudgedFleet:
    """Makes a fleet, sends it to an instance of its own, and asks; or reads what was kept of it.

    With `keep` its database stays as well, and a fleet that has one is asked anew: the product may have changed.

    Raises:
        ProgramFailedError: the program of the twin failed.
        NeverHappenedError: the instance did not rebuild what was sent.
        NotHereError: no instance can run on this machine.
    """
    folder.mkdir(parents=True, exist_ok=True)
    answered, told, database = folder / "answers.json", folder / "truth.json", folder / "database"
    if keep or not answered.exists():
        is_there = keep and answered.exists() and database.exists()
        with running_instance(database if keep else None) as instance:
            if not is_there:
                send_fleet(plan, instance.url, instance.join_token(), told)
                instance.wait_rebuilt()
            instance.store_rules()
            if asked in ("all", "sizes"):
                instance.replay_placements()
            # What came of an earlier answer.
            for stale in ("advised.json", "effects.json"):
                (folder / stale).unlink(missing_ok=True)
            _write(answered, _ask(instance, _read(told), plan.hours, asked))
    truth, answers = _read(told), _read(answered)
    losses, effects = _losses(plan, truth, answers, folder), _effects(plan, truth, answers, folder)
    return JudgedFleet(plan, truth, answers, losses, effects, _advised(plan, truth, answers, folder))


def _ask(instance: Instance, truth: dict[str, Any], hours: int, asked: Asked) -> dict[str, Any]:
    end_s = int(truth["start_unix_s"]) + hours * HOUR_S
    entered = enter_experiments(instance.database, truth, end_s) if asked == "all" else []
    return ask(instance.url, truth, hours, entered, asked)


def _losses(plan: FleetPlan, truth: dict[str, Any], answers: dict[str, Any], folder: Path) -> list[dict[str, Any]]:
    """The loss curves, where any ratio was advised."""
    ratios = [ratio for service in answers["services"].values() for ratio in service["ratio"].values()]
    if not any(ratio["answer"] in (*ANSWERED, "all_dram") for ratio in ratios):
        return []
    path = folder / "losses.json"
    if not path.exists():
        whole = folder / "counterfactual.json"
        shorter = replace(plan, hours=min(plan.hours, LOSS_HOURS), laws=without_faults(plan.laws))
        tell_losses(shorter, truth["start_unix_s"], DRAM_SHARES, whole)
        _write(path, _read(whole)["loss_curves"])
        whole.unlink()
    points: list[dict[str, Any]] = _read(path)
    return points


def _effects(plan: FleetPlan, truth: dict[str, Any], answers: dict[str, Any], folder: Path) -> list[dict[str, Any]]:
    """What the experiments of the laws did, where one was judged."""
    if all(experiment["what"] in NOTHING for experiment in answers.get("experiments", ())):
        return []
    path = folder / "effects.json"
    if not path.exists():
        whole = folder / "counterfactual.json"
        tell_effects(plan, truth["start_unix_s"], whole)
        _write(path, _read(whole)["effects"])
        whole.unlink()
    effects: list[dict[str, Any]] = _read(path)
    return effects


def _advised(plan: FleetPlan, truth: dict[str, Any], answers: dict[str, Any], folder: Path) -> list[dict[str, Any]]:
    """What advised settings do, in the first two days, without faults of kernels and links; a run for each plan."""
    found = {host: plans_of(told.get("advice", [])) for host, told in sorted(answers.get("hosts", {}).items())}
    rounds = max(map(len, found.values()), default=0)
    if not rounds:
        return []
    path = folder / "advised.json"
    if not path.exists():
        whole = folder / "counterfactual.json"
        hours = min(plan.hours, LOSS_HOURS)
        done: list[dict[str, Any]] = []
        for place in range(rounds):
            chosen = {host: plans[place] for host, plans in found.items() if place < len(plans)}
            changes = {host: sets for host, (_, sets) in chosen.items()}
            laws = with_advice(without_faults(plan.laws), changes, hours, ADVISED)
            tell_effects(replace(plan, hours=hours, laws=laws), truth["start_unix_s"], whole)
            told = _read(whole)
            for effect in told["effects"]:
                if effect["incident"].startswith(ADVISED):
                    host = effect["host"]
                    done.append({**effect, "plan": chosen[host][0], **_with_change(told, host)})
            whole.unlink()
        _write(path, done)
    kept: list[dict[str, Any]] = _read(path)
    return kept


def _with_change(told: dict[str, Any], host: str) -> dict[str, float | None]:
    """Means on a host with the change: promotion, and the share of hot memory that is in DRAM."""
    begin_s = told["start_unix_s"] + BEGIN_H * HOUR_S + told["window_s"]
    rows = [row for row in told["windows"] if row["host"] == host and row["end_unix_s"] > begin_s]
    hot = [sum(kind["hot"][node] for row in rows for kind in row["kinds"].values()) for node in ("dram", "slow")]
    promoted = sum(row["moved_bytes"]["promoted"] for row in rows)
    return {
        "hot_in_dram": hot[0] / sum(hot) if sum(hot) else None,
        "promoted_bytes_per_s": promoted / (len({row["end_unix_s"] for row in rows}) * told["window_s"]),
    }
