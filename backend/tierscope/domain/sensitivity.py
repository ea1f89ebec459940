"""How throughput follows the anon and file memory that DRAM serves, or why the data cannot tell.

The regression is in first differences of logarithms, so that levels and slow trends drop out:
dlnT = b_anon dlnA + b_file dlnF + g dlnW + hour of the week. A coefficient is an elasticity: one per cent more anon
memory in DRAM goes with b per cent more throughput. It is an association unless the changes were made at random.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import statsmodels.api as sm

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Kind = Literal["anon", "file"]

MIN_SD = 0.005
MIN_VARIATION = 0.03
MIN_EFFECTIVE = 60.0
MAX_CORRELATION = 0.9
MAX_HALF_WIDTH = 0.3
CLUSTER_MIN_HOSTS = 20
HAC_LAGS = 10
LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class Panel:
    """Host-intervals in order of host, then time. All arrays [n].

    `host` and `calendar` (hour of the week) are small integers. `anon_bytes`, `file_bytes` are bytes served from DRAM;
    `throughput` is work per second, or per CPU second where the service is not saturated; `load` is offered load.
    """

    host: Ints
    calendar: Ints
    anon_bytes: Floats
    file_bytes: Floats
    throughput: Floats
    load: Floats | None


@dataclass(frozen=True, slots=True)
class Elasticity:
    """One coefficient with its interval."""

    value: float
    lo: float
    hi: float


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """Elasticities by kind, None with the reason where the data cannot tell."""

    anon: Elasticity | None
    file: Elasticity | None
    refused: dict[Kind, tuple[str, ...]]
    n: int
    n_hosts: int
    n_effective: float
    correlation: float
    errors: Literal["clustered", "hac"]


def partial_correlation(of_pair: float, of_first: float, of_second: float) -> float:
    """Correlation of T and A with F held fixed, from r_TA, r_TF and r_AF."""
    return float((of_pair - of_first * of_second) / np.sqrt((1 - of_first**2) * (1 - of_second**2)))


def effective_size(n: int, lag_one: float) -> float:
    """Number of independent observations that n autocorrelated ones are worth; negative correlation counts as none."""
    r = max(lag_one, 0.0)
    return n * (1 - r) / (1 + r)


def inflation(correlation: float) -> float:
    """Variance inflation of two regressors with this correlation."""
    left = 1.0 - correlation**2
    return 1.0 / left if left > 0 else float("inf")


def regress(changes: Floats, regressors: Floats) -> Floats:
    """Plain least squares without an intercept: coefficients of `regressors` [n, k]."""
    return np.asarray(sm.OLS(changes, regressors).fit().params, np.float64)


def estimate(panel: Panel) -> Sensitivity:
    """Estimate both elasticities, and refuse those that the data cannot tell.

    Refused for one kind: it hardly varies, or its interval is wide. Refused for both: offered load is unknown, too few
    independent observations, or anon and file move together.
    """
    pairs = panel.host[1:] == panel.host[:-1]
    anon, file, work = (np.diff(np.log(values))[pairs] for values in _logged(panel))
    load = np.diff(np.log(panel.load))[pairs] if panel.load is not None else None
    hosts, n_hosts = panel.host[1:][pairs], len(np.unique(panel.host))
    errors: Literal["clustered", "hac"] = "clustered" if n_hosts >= CLUSTER_MIN_HOSTS else "hac"
    correlation = float(np.corrcoef(anon, file)[0, 1]) if anon.std() > 0 and file.std() > 0 else 0.0
    common = _common_refusals(load, correlation)
    regressors = [anon, file] + ([load] if load is not None else [])
    design = np.column_stack([*regressors, _calendar_dummies(panel.calendar[1:][pairs])])
    if len(work) <= design.shape[1] or np.linalg.matrix_rank(design) < design.shape[1]:
        reasons = (*common, "too few host-intervals for a regression, or a kind that never changes")
        refused: dict[Kind, tuple[str, ...]] = {"anon": reasons, "file": reasons}
        return Sensitivity(None, None, refused, len(work), n_hosts, 0.0, correlation, errors)
    fit = sm.OLS(work, design)
    fitted = (
        fit.fit(cov_type="cluster", cov_kwds={"groups": hosts})
        if errors == "clustered"
        else fit.fit(cov_type="HAC", cov_kwds={"maxlags": HAC_LAGS})
    )
    n_effective = effective_size(len(work), _lag_one(np.asarray(fitted.resid, np.float64), hosts))
    if n_effective < MIN_EFFECTIVE:
        common = (*common, f"{n_effective:.0f} independent host-intervals; {MIN_EFFECTIVE:.0f} are needed")
    bounds = np.asarray(fitted.conf_int(1 - LEVEL), np.float64)
    values = np.asarray(fitted.params, np.float64)
    anon_of = Elasticity(float(values[0]), float(bounds[0, 0]), float(bounds[0, 1]))
    file_of = Elasticity(float(values[1]), float(bounds[1, 0]), float(bounds[1, 1]))
    found: dict[Kind, tuple[str, ...]] = {
        "anon": (*common, *_own_refusals(anon, panel.anon_bytes, anon_of)),
        "file": (*common, *_own_refusals(file, panel.file_bytes, file_of)),
    }
    return Sensitivity(
        anon=None if found["anon"] else anon_of,
        file=None if found["file"] else file_of,
        refused={kind: reasons for kind, reasons in found.items() if reasons},
        n=len(work),
        n_hosts=n_hosts,
        n_effective=n_effective,
        correlation=correlation,
        errors=errors,
    )


def density_index(samples: tuple[float, float], bytes_: tuple[float, float]) -> tuple[float, float, float] | None:
    """Access density of anon and of file, each against the mean, and log2 of their ratio. From heat alone.

    `samples` and `bytes_` are (anon, file). None where either kind has no bytes or no samples.
    """
    if min(*samples, *bytes_) <= 0:
        return None
    shares = [taken / sum(samples) / (size / sum(bytes_)) for taken, size in zip(samples, bytes_, strict=True)]
    return shares[0], shares[1], float(np.log2(shares[0] / shares[1]))


def _logged(panel: Panel) -> tuple[Floats, Floats, Floats]:
    series = (panel.anon_bytes, panel.file_bytes, panel.throughput)
    if any((values <= 0).any() for values in series) or (panel.load is not None and (panel.load <= 0).any()):
        raise ValueError("bytes, throughput and load must be above zero: leave such intervals out")
    return series


def _calendar_dummies(calendar: Ints) -> Floats:
    """One column per hour of the week that occurs; all zero columns of none."""
    known, index = np.unique(calendar, return_inverse=True)
    return np.asarray(np.eye(len(known))[index], np.float64)


def _lag_one(residuals: Floats, hosts: Ints) -> float:
    """Correlation of residuals with the ones before them, within hosts."""
    same = hosts[1:] == hosts[:-1]
    now, before = residuals[1:][same], residuals[:-1][same]
    if len(now) <= 1 or now.std() == 0 or before.std() == 0:
        return 0.0
    return float(np.corrcoef(now, before)[0, 1])


def _common_refusals(load: Floats | None, correlation: float) -> tuple[str, ...]:
    reasons = []
    if load is None:
        reasons.append("offered load is not collected, so that throughput may just follow demand")
    if abs(correlation) >= MAX_CORRELATION:
        vif = inflation(correlation)
        reasons.append(f"anon and file move together: correlation {correlation:.2f}, variance inflation {vif:.1f}")
    return tuple(reasons)


def _own_refusals(changes: Floats, levels: Floats, found: Elasticity) -> tuple[str, ...]:
    reasons = []
    if changes.std() < MIN_SD or levels.std() / levels.mean() < MIN_VARIATION:
        reasons.append("it hardly varies")
    half = (found.hi - found.lo) / 2
    if half > MAX_HALF_WIDTH:
        reasons.append(f"the interval is wide: +-{half:.2f}")
    return tuple(reasons)
