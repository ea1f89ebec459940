"""Memory of containers as cAdvisor prints it: counters of the services that their pods belong to, named as by agents.

What deceives in a name is written out, as in batches of agents.

cAdvisor stamps the values of each container with a time of its own, so that a value stands until the next one. What
only grows (faults, pressure, CPU) is left out: a sum over pods that come and go does not. Kernels count tier moves,
memory by node and shared memory by control group as well; cAdvisor prints none of these.
"""

import re
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from tierscope.domain.base.names import escaped_name
from tierscope.domain.counters.senders import CADVISOR_COUNTERS
from tierscope.domain.ingest.prometheus.targets import own_label

HELD_MS = 120_000
"""How long a value stands. Containers that ended are no longer printed, and count for so long."""
POD_RULE = "kubernetes pod"
"""The rule by which agents name such a service."""
_IN_USE = frozenset({"memory.current|current", "memory.stat|anon"})
"""What no program that runs has none of: its stack alone is some."""
_NAME_LENGTH_MAX = 120
_RUNTIME_LABEL = "container_label_io_kubernetes_"
_PART = re.compile(r"[^/|]{1,253}", re.DOTALL)
_ORDINAL = re.compile(r"^(.*)-[0-9]+$")
# Kubernetes builds random parts from letters without vowels and digits without 0, 1 and 3.
_GENERATED = re.compile(r"^(.*)-[bcdfghjklmnpqrstvwxz2456789]{5}$")
_TEMPLATE = re.compile(r"^(.*)-(?:[bcdfghjklmnpqrstvwxz2456789]{6,10}|[0-9]{8,})$")


def workload_of_pod(pod: str) -> str:
    """The workload that owns a pod: `cart` of `cart-7c9d8b6f5-x2k9z`, `db` of `db-0`, `proxy` of `proxy-x2k9z`."""
    ordinal = _ORDINAL.match(pod)
    if ordinal is not None:
        return ordinal[1]
    generated = _GENERATED.match(pod)
    if generated is None:
        return pod
    template = _TEMPLATE.match(generated[1])
    return generated[1] if template is None else template[1]


def _names(labels: Mapping[str, str]) -> tuple[str, str, str]:
    """Namespace, pod and container that a series is about.

    A cAdvisor in a pod of its own is scraped with the labels of that pod: what it prints itself is then what the
    runtime calls the container, or has `exported_` in front (google/cadvisor issue 3162).
    """
    if _is_told_by_runtime(labels):
        of_pod = (labels.get(f"{_RUNTIME_LABEL}pod_namespace", ""), labels.get(f"{_RUNTIME_LABEL}pod_name", ""))
        return *of_pod, labels.get(f"{_RUNTIME_LABEL}container_name", "")
    if labels.get("exported_pod"):
        return own_label(labels, "namespace"), labels["exported_pod"], labels.get("exported_container", "")
    return own_label(labels, "namespace"), labels.get("pod", ""), own_label(labels, "container")


def _is_told_by_runtime(labels: Mapping[str, str]) -> bool:
    return any(name.startswith(_RUNTIME_LABEL) for name in labels)


def container_counter(labels: Mapping[str, str]) -> str | None:
    """The service's counter that a series of one container gives; None for pods as a whole, which would count twice."""
    counter = CADVISOR_COUNTERS.get(labels.get("__name__", ""))
    namespace, pod, container = _names(labels)
    if counter is None or container in ("", "POD"):
        return None
    if not _PART.fullmatch(namespace) or not _PART.fullmatch(pod):
        return None
    service = f"{namespace[:_NAME_LENGTH_MAX]}/{workload_of_pod(pod)[:_NAME_LENGTH_MAX]}"
    return f"service:{escaped_name(service)}|{counter}"


def repeated_containers(series: Mapping[int, Mapping[str, str]]) -> frozenset[int]:
    """Which series of containers of one teller, by id, are of no container: what its outermost control group holds.

    cAdvisor prints each control group. One that a container makes inside of its own has the same labels apart from
    `id`, and so has one that is seen below two roots, as in nodes that are containers themselves. Where even the root
    has the name of a container, that is of the pod that was scraped, and none that the series themselves have.
    """
    groups: dict[tuple[str, ...], list[tuple[str, int]]] = {}
    for number, labels in series.items():
        if labels.get("id"):
            group = (labels["__name__"], *_names(labels), labels.get("name", ""))
            groups.setdefault(group, []).append((labels["id"], number))
    repeated: set[int] = set()
    if any(labels.get("id") == "/" for labels in series.values()):
        repeated |= {
            number
            for number, labels in series.items()
            if not _is_told_by_runtime(labels) and not labels.get("exported_pod")
        }
    for same, several in groups.items():
        kept: list[str] = []
        # Shorter paths first: what holds another is shorter than that.
        for path, number in sorted(several, key=lambda one: (len(one[0]), one)):
            inside = any(path.startswith(f"{outer.rstrip('/')}/") for outer in kept)
            # `name` is the runtime's own of one container: the same group below another root.
            again = bool(same[-1]) and any(_last(path) == _last(outer) for outer in kept)
            if inside or again:
                repeated.add(number)
            else:
                kept.append(path)
    return frozenset(repeated)


def told_memory(
    keys: Sequence[str], values: npt.NDArray[np.float64], present: npt.NDArray[np.bool_]
) -> npt.NDArray[np.bool_]:
    """Which of `values` [n, k] of `keys` [k] are told, of those that are `present` [n, k].

    Where a kernel's memory controller is off, or the kubelet cannot read the group of a container, cAdvisor prints 0
    for all of its memory (google/cadvisor issue 2822): that is not collected, and no size.
    """
    services: dict[str, list[int]] = {}
    for place, key in enumerate(keys):
        name, _, counter = key.partition("|")
        if name.startswith("service:") and counter in CADVISOR_COUNTERS.values():
            services.setdefault(name, []).append(place)
    told = present.copy()
    for places in services.values():
        in_use = [place for place in places if keys[place].partition("|")[2] in _IN_USE]
        empty = present[:, in_use].any(axis=1) & ~((values[:, places] != 0) & present[:, places]).any(axis=1)
        told[np.ix_(empty, places)] = False
    return told


def _last(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2]
