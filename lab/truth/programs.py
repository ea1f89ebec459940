"""The programs of the twin: the fleet that sends its hosts, and the one that tells what would have been."""

import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from faults.processes import clean_env
from faults.programs import ROOT

FLEET_SECONDS = 2400.0
"""How long a fleet may take to be simulated and sent."""


@dataclass(frozen=True, slots=True)
class FleetPlan:
    """A fleet to be made: `laws` in TOML, a page of the twin in `panel_every` is looked at."""

    laws: str
    seed: int
    hours: int
    panel_every: int


class ProgramFailedError(Exception):
    """A program of the twin ended with an error; the text holds what it said."""


def _run(command: Sequence[str]) -> None:
    done = subprocess.run(command, env=clean_env(), capture_output=True, text=True, timeout=FLEET_SECONDS, check=False)
    if done.returncode != 0:
        raise ProgramFailedError(f"{command[0]}: {done.stderr[-2000:]}")


def send_fleet(agent: Path, plan: FleetPlan, url: str, token: Path, truth: Path) -> None:
    """Sends a fleet's history to the service at `url`, and writes its truth.

    Raises:
        ProgramFailedError: it could not.
    """
    laws = truth.with_name("laws.toml")
    laws.write_text(plan.laws, encoding="utf-8")
    run = (f"--laws={laws}", f"--seed={plan.seed}", f"--hours={plan.hours}", f"--panel-every={plan.panel_every}")
    place = (f"--server={url}", f"--join-token-file={token}", "--connections=2")
    _run((str(agent), "fleet", *run, "--minutes=0", f"--truth={truth}", *place))


def twin_program() -> Path:
    """The compiled `tierscope-twin`.

    Raises:
        ProgramFailedError: it cannot be compiled.
    """
    manifest = Path(os.environ.get("CARGO_DIR") or ROOT / "collector-agent") / "Cargo.toml"
    command = ("cargo", "build", "--quiet", "--locked", "--profile=checkout", "--package=tierscope-twin")
    _run([*command, f"--manifest-path={manifest}"])
    built = Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "collector-agent" / "target")
    return built / "checkout" / "tierscope-twin"


def tell_losses(twin: Path, plan: FleetPlan, start_unix_s: int, shares: Sequence[float], out: Path) -> None:
    """Writes the truth of the same fleet with what its services lose at other shares of DRAM.

    Raises:
        ProgramFailedError: it could not.
    """
    _tell(twin, plan, start_unix_s, f"--dram-shares={','.join(f'{share:.4f}' for share in shares)}", out)


def tell_effects(twin: Path, plan: FleetPlan, start_unix_s: int, out: Path) -> None:
    """Writes the truth of the same fleet with what its experiments did.

    Raises:
        ProgramFailedError: it could not.
    """
    _tell(twin, plan, start_unix_s, "--effects", out)


def tell_memory(twin: Path, plan: FleetPlan, out: Path) -> None:
    """Writes the truth of a fleet from the begin that its laws state.

    Raises:
        ProgramFailedError: it could not.
    """
    laws = out.with_suffix(".toml")
    laws.write_text(plan.laws, encoding="utf-8")
    _run((str(twin), f"--laws={laws}", f"--seed={plan.seed}", f"--hours={plan.hours}", f"--out={out}"))


def _tell(twin: Path, plan: FleetPlan, start_unix_s: int, what: str, out: Path) -> None:
    laws = out.with_suffix(".toml")
    laws.write_text(plan.laws, encoding="utf-8")
    run = (f"--laws={laws}", f"--seed={plan.seed}", f"--hours={plan.hours}", f"--start-unix-s={start_unix_s}")
    _run((str(twin), *run, what, f"--out={out}"))
