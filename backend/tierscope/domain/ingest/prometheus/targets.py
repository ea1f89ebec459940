"""Whom a series is about: the target that its labels name."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import urlsplit

INSTANCE = "instance"


@dataclass(frozen=True, slots=True, order=True)
class TargetName:
    """A machine or service as Prometheus knows it. `name` is empty for series that name none."""

    cluster: str
    name: str


def find_target(labels: Mapping[str, str], *, host_label: str, cluster_label: str) -> TargetName:
    """The target of a series: its host label without scheme and port, and its cluster label where it has one."""
    return TargetName(labels.get(cluster_label, ""), strip_port(labels.get(host_label, "")))


@lru_cache(maxsize=4096)
def strip_port(instance: str) -> str:
    """`db1` of `db1:9100`, `http://db1:9100/metrics` and `db1`; `::1` of `[::1]:9100`."""
    address = instance if "//" in instance else f"//{instance}"
    try:
        return urlsplit(address).hostname or instance
    except ValueError:
        return instance
