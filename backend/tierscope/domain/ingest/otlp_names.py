"""How metrics of OpenTelemetry are named as series of Prometheus.

Source: OpenTelemetry specification, "Prometheus and OpenMetrics Compatibility", translation with underscores and
suffixes, which is also Prometheus' default for OTLP.
"""

import re

import numpy as np

_UNITS = {
    "d": "days",
    "h": "hours",
    "min": "minutes",
    "s": "seconds",
    "ms": "milliseconds",
    "us": "microseconds",
    "ns": "nanoseconds",
    "By": "bytes",
    "KiBy": "kibibytes",
    "MiBy": "mebibytes",
    "GiBy": "gibibytes",
    "TiBy": "tibibytes",
    "kBy": "kilobytes",
    "KBy": "kilobytes",
    "MBy": "megabytes",
    "GBy": "gigabytes",
    "TBy": "terabytes",
    "m": "meters",
    "V": "volts",
    "A": "amperes",
    "J": "joules",
    "W": "watts",
    "g": "grams",
    "Cel": "celsius",
    "Hz": "hertz",
    "%": "percent",
    "1": "",
}
_PER = {"s": "second", "m": "minute", "min": "minute", "h": "hour", "d": "day", "w": "week", "mo": "month", "y": "year"}
_NOT_OF_METRICS = re.compile(r"[^a-zA-Z0-9:]+")
_NOT_OF_LABELS = re.compile(r"[^a-zA-Z0-9]+")


def metric_name(name: str, unit: str, *, counter: bool, gauge: bool) -> str:
    """The name of a metric: `system_memory_usage_bytes` of `system.memory.usage` in `By`; empty where none is left.

    `counter`: a sum that only grows, which ends with `_total`. `gauge`: of unit `1`, which ends with `_ratio`.
    """
    words = [word for word in _NOT_OF_METRICS.split(name) if word]
    if not words:
        return ""
    words += [word for word in _unit_words(unit) if word not in words]
    if counter:
        words = [word for word in words if word != "total"] + ["total"]
    elif gauge and unit.strip() == "1":
        words = [word for word in words if word != "ratio"] + ["ratio"]
    joined = "_".join(words)
    return f"_{joined}" if joined[0].isdigit() else joined


def _unit_words(unit: str) -> list[str]:
    main, _, per = unit.strip().partition("/")
    found = []
    if main and "{" not in main:
        found += [word for word in _NOT_OF_LABELS.split(_UNITS.get(main, main)) if word]
    if per and "{" not in per:
        found += ["per", *(word for word in _NOT_OF_LABELS.split(_PER.get(per, per)) if word)]
    return found


def label_name(key: str) -> str:
    """The label of an attribute: `http_method` of `http.method`. Never one with two underscores in front."""
    name = _NOT_OF_LABELS.sub("_", key)
    if name[:1].isdigit():
        return f"key_{name}"
    return f"key{name}" if name.startswith("_") else name


def bound_text(bound: float) -> str:
    """A bound of a histogram or a quantile as the value of its label: `10`, `0.5`, `+Inf`."""
    if np.isposinf(bound):
        return "+Inf"
    if np.isneginf(bound):
        return "-Inf"
    return "NaN" if np.isnan(bound) else np.format_float_positional(bound, trim="-")
