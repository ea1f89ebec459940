"""How throughput follows the anon and file memory that DRAM serves, or why the data cannot tell.

The regression is in first differences of logarithms, so that levels and slow trends drop out:
dlnT = b_anon dlnA + b_file dlnF + g dlnW + hour of the week. A coefficient is an elasticity: one per cent more anon
memory in DRAM goes with b per cent more throughput. It is an association unless the changes were made at random.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import scipy

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

    `host` and `calendar` (hour of the week) are small integers, `interval` numbers the intervals of time: only changes
    between neighbours of one host are used, those a usual step of the host apart. `anon_bytes`, `file_bytes` are bytes
    served from DRAM; `throughput` is work per second, or per CPU second where the service is not saturated; `load` is
    offered load.
    """

    host: Ints
    interval: Ints
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


def estimate(panel: Panel) -> Sensitivity:
    """Estimate both elasticities, and refuse those that the data cannot tell.

    Refused for one kind: it hardly varies, or its interval is wide. Refused for both: offered load is unknown, too few
    independent observations, or anon and file move together.
    """
    pairs = neighbours(panel.host, panel.interval)
    anon, file, work = (np.diff(np.log(values))[pairs] for values in _logged(panel))
    load = np.diff(np.log(panel.load))[pairs] if panel.load is not None else None
    changes = _Changes(panel.host[1:][pairs], panel.calendar[1:][pairs], anon, file, work, load)
    n_hosts = len(np.unique(changes.hosts))
    errors: Literal["clustered", "hac"] = "clustered" if n_hosts >= CLUSTER_MIN_HOSTS else "hac"
    correlation = float(np.corrcoef(anon, file)[0, 1]) if _varies(anon) and _varies(file) else 0.0
    common = _common_refusals(load, correlation)
    fitted = _fit(changes, errors)
    if fitted is None:
        reasons = (*common, "too few host-intervals for a regression, or a kind that never changes")
        refused: dict[Kind, tuple[str, ...]] = {"anon": reasons, "file": reasons}
        return Sensitivity(None, None, refused, len(work), n_hosts, 0.0, correlation, errors)
    if fitted.n_effective < MIN_EFFECTIVE:
        needed = f"{fitted.n_effective:.0f} independent host-intervals; {MIN_EFFECTIVE:.0f} are needed"
        common = (*common, needed)
    found: dict[Kind, tuple[str, ...]] = {
        "anon": (*common, *_own_refusals(anon, _variation(panel.anon_bytes, panel.host), fitted.anon)),
        "file": (*common, *_own_refusals(file, _variation(panel.file_bytes, panel.host), fitted.file)),
    }
    return Sensitivity(
        anon=None if found["anon"] else fitted.anon,
        file=None if found["file"] else fitted.file,
        refused={kind: reasons for kind, reasons in found.items() if reasons},
        n=len(work),
        n_hosts=n_hosts,
        n_effective=fitted.n_effective,
        correlation=correlation,
        errors=errors,
    )


@dataclass(frozen=True, slots=True)
class _Changes:
    """First differences of logarithms [n], in order of host, then time."""

    hosts: Ints
    calendar: Ints
    anon: Floats
    file: Floats
    work: Floats
    load: Floats | None


@dataclass(frozen=True, slots=True)
class _Fit:
    anon: Elasticity | None
    file: Elasticity | None
    n_effective: float


def _fit(changes: _Changes, errors: Literal["clustered", "hac"]) -> _Fit | None:
    """Coefficients with intervals, None for a kind that never changes; None where the design does not tell them.

    The dummies of the hours are taken out by demeaning within each hour (Frisch, Waugh, Lovell): the coefficients and
    residuals are those of the full regression, at a fraction of its size.
    """
    import statsmodels.api as sm  # noqa: PLC0415 - takes seconds to load, and few reads need it

    _, hour = np.unique(changes.calendar, return_inverse=True)
    n_hours = int(hour.max()) + 1 if len(hour) else 0
    kinds = [values for values in (changes.anon, changes.file) if _varies(values)]
    regressors = kinds + ([] if changes.load is None else [changes.load])
    if not kinds:
        return None
    design = np.column_stack([_demean(values, hour) for values in regressors])
    left = len(changes.work) - design.shape[1] - n_hours
    if left <= 0 or np.linalg.matrix_rank(design) < design.shape[1]:
        return None
    fit = sm.OLS(_demean(changes.work, hour), design)
    fitted = (
        fit.fit(cov_type="cluster", cov_kwds={"groups": changes.hosts})
        if errors == "clustered"
        else fit.fit(cov_type="HAC", cov_kwds={"maxlags": HAC_LAGS})
    )
    # The dummies used up degrees of freedom that the demeaned design does not show.
    widen = float(np.sqrt((left + n_hours) / left))
    values, sds = np.asarray(fitted.params, np.float64), np.asarray(fitted.bse, np.float64) * widen
    # Few clusters tell their own spread badly: Student's quantile over clusters, the normal one over time.
    at = 0.5 + LEVEL / 2
    n_hosts = len(np.unique(changes.hosts))
    half = float(scipy.special.stdtrit(n_hosts - 1, at) if errors == "clustered" else scipy.special.ndtri(at)) * sds
    found = iter([Elasticity(float(v), float(v - h), float(v + h)) for v, h in zip(values, half, strict=True)])
    lag_one = _lag_one(np.asarray(fitted.resid, np.float64), changes.hosts)
    return _Fit(
        anon=next(found) if _varies(changes.anon) else None,
        file=next(found) if _varies(changes.file) else None,
        n_effective=effective_size(len(changes.work), lag_one),
    )


def neighbours(host: Ints, interval: Ints) -> npt.NDArray[np.bool_]:
    """Which of the steps between rows [n - 1] join neighbouring intervals of one host: its usual step apart."""
    same = host[1:] == host[:-1]
    steps = np.diff(interval)
    usual = np.zeros(len(steps), np.int64)
    for one in np.unique(host[1:][same]):
        mine = same & (host[1:] == one)
        usual[mine] = int(np.median(steps[mine]))
    near: npt.NDArray[np.bool_] = same & (steps == usual)
    return near


@dataclass(frozen=True, slots=True)
class Line:
    """A straight line through levels: throughput = intercept + slope x bytes."""

    slope: float
    intercept: float


def level_line(bytes_: Floats, throughput: Floats) -> Line | None:
    """Least squares through the levels, for looking at; None where the bytes do not vary."""
    if not _varies(bytes_):
        return None
    found = scipy.stats.linregress(bytes_, throughput)
    return Line(float(found.slope), float(found.intercept))


def level_correlations(panel: Panel) -> dict[Kind, float | None]:
    """Partial correlation of throughput with each kind, the other held fixed; of levels, so that trends enter it."""
    series = (panel.throughput, panel.anon_bytes, panel.file_bytes)
    if not all(_varies(values) for values in series):
        return {"anon": None, "file": None}
    table = np.asarray(np.corrcoef(np.stack(series)), np.float64)
    with_anon, with_file, between = float(table[0, 1]), float(table[0, 2]), float(table[1, 2])
    if max(abs(with_anon), abs(with_file), abs(between)) >= 1.0:
        return {"anon": None, "file": None}
    return {
        "anon": partial_correlation(with_anon, with_file, between),
        "file": partial_correlation(with_file, with_anon, between),
    }


def thin(n: int, most: int) -> Ints:
    """Places of every k-th of n rows, so that at most `most` are left."""
    step = max(-(-n // most), 1)
    return np.arange(0, n, step, dtype=np.int64)


def hour_of_week(times_s: Floats) -> Ints:
    """Hour of the week in UTC, 0 = Monday from midnight to one; the epoch was a Thursday."""
    hours: Ints = (np.floor(times_s / 3600).astype(np.int64) + 3 * 24) % 168
    return hours


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


def _demean(values: Floats, group: npt.NDArray[np.intp]) -> Floats:
    """Values less the mean of their group."""
    sums, counts = np.bincount(group, weights=values), np.bincount(group)
    out: Floats = values - (sums / np.maximum(counts, 1))[group]
    return out


def _varies(values: Floats) -> bool:
    return len(values) > 1 and float(values.std()) > 0


def _variation(levels: Floats, host: Ints) -> float:
    """Coefficient of variation within hosts: hosts of different sizes are no variation."""
    _, index = np.unique(host, return_inverse=True)
    means = np.bincount(index, weights=levels) / np.bincount(index)
    return float(np.sqrt(np.mean((levels / means[index] - 1.0) ** 2)))


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


def _own_refusals(changes: Floats, variation: float, found: Elasticity | None) -> tuple[str, ...]:
    if found is None:
        return ("it never changes",)
    reasons = []
    if changes.std() < MIN_SD or variation < MIN_VARIATION:
        reasons.append(f"it hardly varies: changes of {changes.std():.2%}, levels within {variation:.1%} of their mean")
    half = (found.hi - found.lo) / 2
    if half > MAX_HALF_WIDTH:
        reasons.append(f"the interval is wide: an elasticity known to ±{half:.2f}")
    return tuple(reasons)
