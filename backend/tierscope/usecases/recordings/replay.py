"""Replay a recorded page trace or a synthetic workload under placement policies, without a database."""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from tierscope.core.errors import BadRequest, ConfigurationError, Unprocessable
from tierscope.domain.base.page_size import MODEL_PAGE_BYTES
from tierscope.domain.simulate import (
    POLICY_NAMES,
    WORKLOAD_SEED,
    Claim,
    Costs,
    Loss,
    Machine,
    Outcome,
    Policy,
    PolicyName,
    Stall,
    Totals,
    claim_replay,
    estimate_loss,
    make_policy,
    make_workload,
    of_recording,
    replay,
    split_machine,
    stall_time,
)
from tierscope.domain.simulate.replay import INTERVAL_SECONDS
from tierscope.domain.simulate.swap_devices import read_devices
from tierscope.domain.simulate.swap_replay import DeviceUse, play_on_device
from tierscope.domain.simulate.sweep import POLICIES_LONGEST_FIRST, share_settings
from tierscope.storage.curve.page_traces import read_page_trace

if TYPE_CHECKING:
    from tierscope.domain.simulate.trace import SimulationTrace

Floats = npt.NDArray[np.float64]
IntervalFrom = Literal["set", "recording", "default"]
"""Where the length of an interval is known from."""

ALL = "all"
WATERMARK_SETTINGS = ("watermark_low_pages", "watermark_high_pages", "watermark_promo_pages")
MACHINE_SETTINGS = (
    "slow_pages",
    "swap_pages",
    "watermark_scale_factor",
    "scan_pass_s",
    "scan_size_mb",
    *WATERMARK_SETTINGS,
)
COST_SETTINGS = tuple(field.name for field in fields(Costs))
OTHER_SETTINGS = ("interval_s", "cpu_seconds")


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to replay: policies by name or `all`, and DRAM as a share of the peak or in base pages.

    `swap_devices`: that take the traffic of policies which swap; none named, what each of these swaps to.
    `swap_utilisation`: how full the traffic makes them at most; None takes the size of the policy's swap area.
    """

    policies: Sequence[str]
    dram_ratio: float | None
    dram_pages: int | None
    settings: Mapping[str, float]
    seed: int | None = None
    threads: int = 1
    swap_devices: Sequence[str] = ()
    swap_utilisation: float | None = None


@dataclass(frozen=True, slots=True)
class Run:
    """One policy's replay with what it costs, and swap devices under its traffic; none where nothing swaps.

    `claim`: what recorded kernels let one claim of its local share and its moves.
    """

    outcome: Outcome
    totals: Totals
    stall: Stall
    loss: Loss | None
    claim: Claim
    swap: tuple[DeviceUse, ...] = ()


@dataclass(frozen=True, slots=True)
class Replays:
    """All replays of one trace."""

    intervals: int
    pages: int
    touched: int
    accesses: int
    peak_pages: int
    page_bytes: int
    interval_s: float
    interval_from: IntervalFrom
    cpu_seconds: float | None
    costs: Costs
    oracle_accesses: Floats
    """Accesses that the densest pages of each interval take: the bound of every run, [intervals]."""
    runs: tuple[Run, ...]

    @property
    def oracle_ratio(self) -> float | None:
        """Share of all accesses that the bound serves; None without accesses."""
        return float(self.oracle_accesses.sum()) / self.accesses if self.accesses else None


@contextmanager
def reading_page_traces() -> Iterator[None]:
    """Says what a failure to read a page trace means to who gave it."""
    try:
        yield
    except ValueError as error:
        raise Unprocessable(
            str(error), next_step="Give a page trace in Parquet, as docs/simulate-json.md describes it."
        ) from error
    except RuntimeError as error:
        raise ConfigurationError(str(error), next_step="Run `make simcore`.") from error


def simulate_recording(path: Path, wanted: Wanted) -> Replays:
    """Replay a page trace (Parquet).

    Raises:
        BadRequest: a policy, a setting or the size of DRAM cannot be.
        Unprocessable: the file is no page trace; the message names the row.
        ConfigurationError: the compiled core is not built.
    """
    with reading_page_traces():
        recording = read_page_trace(path)
        trace = of_recording(recording)
    return replay_all(trace, recording.page_size_bytes, wanted, recorded_interval_s=recording.interval_seconds)


def simulate_workload(name: str, wanted: Wanted, *, pages: int, intervals: int) -> Replays:
    """Replay a synthetic workload of so many pages and intervals; the seed that draws hint faults makes it as well.

    Raises:
        BadRequest: the workload, a policy, a setting or a size cannot be.
        ConfigurationError: the compiled core is not built.
    """
    seed = WORKLOAD_SEED if wanted.seed is None else wanted.seed
    try:
        trace = make_workload(name, seed=seed, pages=pages, intervals=intervals)
    except ValueError as error:
        raise BadRequest(str(error), next_step="docs/simulate-json.md lists the workloads and their sizes.") from error
    except RuntimeError as error:
        raise ConfigurationError(str(error), next_step="Run `make simcore`.") from error
    return replay_all(trace, MODEL_PAGE_BYTES, wanted)


def replay_all(
    trace: "SimulationTrace", page_bytes: int, wanted: Wanted, *, recorded_interval_s: float | None = None
) -> Replays:
    """Replay a trace under every policy asked for.

    `recorded_interval_s`: what the recording says of its intervals, which holds unless `interval_s` is set.

    Raises:
        BadRequest: a policy, a setting or the size of DRAM cannot be.
    """
    try:
        shared, own = _split_settings(wanted)
        costs = Costs(**{name: shared[name] for name in COST_SETTINGS if name in shared})
        machine = _machine(wanted, shared, trace.peak_units, page_bytes)
        policies = [make_policy(name, own[name]) for name in _names(wanted)]
        devices = read_devices(wanted.swap_devices) or (None,)
        interval_s, interval_from = _interval(shared, recorded_interval_s)
        cpu_seconds = shared.get("cpu_seconds")

        def run(policy: Policy) -> Run:
            outcome = replay(
                trace,
                policy,
                machine,
                interval_s=interval_s,
                seed=wanted.seed,
                fault_s=costs.fault_seconds,
                with_swap=True,
            )
            totals = outcome.totals()
            loss = estimate_loss(totals, costs, cpu_seconds=cpu_seconds)
            uses = (play_on_device(outcome, device, wanted.swap_utilisation) for device in devices)
            swap = tuple(use for use in uses if use is not None)
            return Run(outcome, totals, stall_time(totals, costs), loss, claim_replay(trace, outcome), swap)

        # A policy that is named twice is replayed twice, so that places are sorted, not names.
        places = sorted(range(len(policies)), key=lambda place: POLICIES_LONGEST_FIRST.index(policies[place].name))
        with ThreadPoolExecutor(max_workers=max(wanted.threads, 1)) as pool:
            ended = dict(zip(places, pool.map(run, [policies[place] for place in places]), strict=True))
        runs = tuple(ended[place] for place in range(len(policies)))
    except ValueError as error:
        raise BadRequest(str(error), next_step="`tierscope simulate --help` lists policies and settings.") from error
    return Replays(
        intervals=trace.intervals,
        pages=trace.pages,
        touched=trace.touched,
        accesses=trace.accesses,
        peak_pages=trace.peak_units,
        page_bytes=page_bytes,
        interval_s=interval_s,
        interval_from=interval_from,
        cpu_seconds=cpu_seconds,
        costs=costs,
        oracle_accesses=trace.oracle(machine.dram_pages),
        runs=runs,
    )


def _interval(shared: Mapping[str, float], recorded_s: float | None) -> tuple[float, IntervalFrom]:
    if "interval_s" in shared:
        return shared["interval_s"], "set"
    return (INTERVAL_SECONDS, "default") if recorded_s is None else (recorded_s, "recording")


def _names(wanted: Wanted) -> list[PolicyName]:
    """The policies asked for, in the order of the table for `all`."""
    if ALL in wanted.policies:
        return list(POLICY_NAMES)
    return [make_policy(name).name for name in wanted.policies]


def _split_settings(wanted: Wanted) -> tuple[dict[str, float], dict[PolicyName, dict[str, float]]]:
    """Settings of machine and costs, and those of each policy that has them.

    Raises:
        SettingsError: nothing asked for has such a setting.
    """
    shared_names = {*MACHINE_SETTINGS, *COST_SETTINGS, *OTHER_SETTINGS}
    return share_settings(_names(wanted), wanted.settings, shared_names)


def _machine(wanted: Wanted, shared: Mapping[str, float], peak_pages: int, page_bytes: int) -> Machine:
    """The machine asked for; a slower tier that holds the rest unless its size is set.

    Raises:
        ValueError: DRAM is not said once, or cannot be.
    """
    if (wanted.dram_ratio is None) == (wanted.dram_pages is None):
        raise ValueError("say how much DRAM there is: either as a share of the trace's peak or in pages")
    split = split_machine(peak_pages, wanted.dram_ratio if wanted.dram_ratio is not None else 1.0)
    total = split.dram_pages + split.slow_pages
    dram = split.dram_pages if wanted.dram_pages is None else wanted.dram_pages
    return Machine(
        dram_pages=dram,
        slow_pages=int(shared.get("slow_pages", max(total - dram, 0))),
        page_bytes=page_bytes,
        swap_pages=int(shared.get("swap_pages", 0)),
        watermark_scale_factor=shared.get("watermark_scale_factor", split.watermark_scale_factor),
        scan_pass_s=shared.get("scan_pass_s"),
        scan_size_mb=shared.get("scan_size_mb", split.scan_size_mb),
        zone_watermarks=_watermarks(shared),
    )


def _watermarks(shared: Mapping[str, float]) -> tuple[int, int, int] | None:
    """Low, high and promo as a host's zoneinfo has them; None where they are not said.

    Raises:
        ValueError: some are said, and not all.
    """
    given = [shared[name] for name in WATERMARK_SETTINGS if name in shared]
    if not given:
        return None
    if len(given) < len(WATERMARK_SETTINGS):
        raise ValueError(f"say all of {', '.join(WATERMARK_SETTINGS)}, or none")
    low, high, promo = given
    return int(low), int(high), int(promo)
