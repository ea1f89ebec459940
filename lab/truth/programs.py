"""The program of the twin: it sends its hosts, and tells what would have been."""

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from faults.processes import clean_env
from faults.stage import NotHereError
from tierscope.cli.base.source_tree import FLEET, find_program

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
    """The program ended with an error; the text holds what it said."""


def _run(plan: FleetPlan, laws: Path, *words: str) -> None:
    program = find_program(FLEET)
    if program is None:
        raise NotHereError(f"{FLEET} is not compiled: make agent")
    laws.write_text(plan.laws, encoding="utf-8")
    run = (f"--laws={laws}", f"--seed={plan.seed}", f"--hours={plan.hours}")
    command = (str(program), *words, *run)
    done = subprocess.run(command, env=clean_env(), capture_output=True, text=True, timeout=FLEET_SECONDS, check=False)
    if done.returncode != 0:
        raise ProgramFailedError(f"{FLEET}: {done.stderr[-2000:]}")


def send_fleet(plan: FleetPlan, url: str, token: Path, truth: Path) -> None:
    """Sends a fleet's history to the service at `url`, and writes its truth.

    Raises:
        ProgramFailedError: it could not.
    """
    place = (f"--server={url}", f"--join-token-file={token}", "--connections=2", f"--panel-every={plan.panel_every}")
    _run(plan, truth.with_name("laws.toml"), "send", "--minutes=0", f"--truth={truth}", *place)


def tell_losses(plan: FleetPlan, start_unix_s: int, shares: Sequence[float], out: Path) -> None:
    """Writes the truth of the same fleet with what its services lose at other shares of DRAM.

    Raises:
        ProgramFailedError: it could not.
    """
    _tell(plan, out, f"--start-unix-s={start_unix_s}", f"--dram-shares={','.join(f'{share:.4f}' for share in shares)}")


def tell_effects(plan: FleetPlan, start_unix_s: int, out: Path) -> None:
    """Writes the truth of the same fleet with what its experiments did.

    Raises:
        ProgramFailedError: it could not.
    """
    _tell(plan, out, f"--start-unix-s={start_unix_s}", "--effects")


def tell_memory(plan: FleetPlan, out: Path) -> None:
    """Writes the truth of a fleet from the begin that its laws state.

    Raises:
        ProgramFailedError: it could not.
    """
    _tell(plan, out)


def _tell(plan: FleetPlan, out: Path, *words: str) -> None:
    _run(plan, out.with_suffix(".toml"), "truth", f"--out={out}", *words)
