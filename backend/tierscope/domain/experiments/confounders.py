"""Confounders by name: what else than the change may have moved a metric, as far as hosts report it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from tierscope.domain.fleet.network import NAME, HostNetwork, some_names

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

Effect = Literal["none", "arms_differ", "changed", "follows_the_change"]


@dataclass(frozen=True, slots=True)
class NetworkConfounder:
    """RDMA and SMC-R over the hosts of both arms. `covariate` [hosts]: steps, None where it cannot be a regressor."""

    effect: Effect
    covariate: Floats | None
    warnings: tuple[str, ...]


def judge_network(hosts: Sequence[HostNetwork], canary: Bools) -> NetworkConfounder:
    """Whether RDMA or SMC-R may explain a difference. `canary` [hosts] marks the rows of the canary hosts.

    A covariate where it came or went on some hosts of an arm and not on others: then its effect can be told from that
    of the change. Where it came with the change, on all canary hosts and no other, it cannot.
    """
    unknown = [host.name for host in hosts if not host.known]
    warnings = [f"RDMA and SMC-R are not known of {some_names(unknown)}."] if unknown else []
    effect: Effect = "none"
    covariate = None
    changed = [host.name for host in hosts if host.changed]
    if changed:
        steps = np.array([host.step for host in hosts], np.float64)
        varies = any(bool(np.ptp(steps[arm]) > 0) for arm in (canary, ~canary) if arm.any())
        covariate = steps if varies and not unknown else None
        follows = not varies and bool(np.ptp(steps) > 0)
        effect = "follows_the_change" if follows else "changed"
        told = "It is a covariate of the effect." if covariate is not None else "The effect is not corrected for it."
        if follows:
            told = "It cannot be told from the change: repeat the experiment without it."
        warnings.append(f"{NAME}: RDMA or SMC-R changed on {some_names(changed)} in the window. {told}")
    of_canary, of_control = (
        _share([host for host, row in zip(hosts, canary.tolist(), strict=True) if row == arm]) for arm in (True, False)
    )
    if of_canary is not None and of_control is not None and of_canary != of_control:
        effect = "arms_differ" if effect == "none" else effect
        warnings.append(
            f"{NAME}: {of_canary:.0%} of the canary hosts and {of_control:.0%} of the control hosts had RDMA or SMC-R"
            " before the change: compare hosts with the same network."
        )
    return NetworkConfounder(effect, covariate, tuple(warnings))


def _share(hosts: Sequence[HostNetwork]) -> float | None:
    known = [bool(host.before) for host in hosts if host.known]
    return sum(known) / len(known) if known else None
