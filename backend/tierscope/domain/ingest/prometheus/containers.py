"""Memory of containers as cAdvisor prints it: counters of the services that their pods belong to, named as by agents.

What deceives in a name is written out, as in batches of agents.

cAdvisor stamps the values of each container with a time of its own, so that a value stands until the next one. What
only grows (faults, pressure, CPU) is left out: a sum over pods that come and go does not. Kernels count tier moves,
memory by node and shared memory by control group as well; cAdvisor prints none of these.
"""

import re
from collections.abc import Mapping

from tierscope.domain.base.names import escaped_name

HELD_MS = 120_000
"""How long a value stands. Containers that ended are no longer printed, and count for so long."""
POD_RULE = "kubernetes pod"
"""The rule by which agents name such a service."""
METRICS = {
    "container_memory_usage_bytes": "memory.current|current",
    "container_memory_rss": "memory.stat|anon",
    "container_memory_cache": "memory.stat|file",
    "container_memory_mapped_file": "memory.stat|file_mapped",
    "container_memory_swap": "memory.swap.current|current",
}
_NAME_LENGTH_MAX = 120
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


def container_counter(labels: Mapping[str, str]) -> str | None:
    """The service's counter that a series of one container gives; None for pods as a whole, which would count twice."""
    counter = METRICS.get(labels.get("__name__", ""))
    container = labels.get("container", "")
    if counter is None or container in ("", "POD"):
        return None
    namespace, pod = labels.get("namespace", ""), labels.get("pod", "")
    if not _PART.fullmatch(namespace) or not _PART.fullmatch(pod):
        return None
    service = f"{namespace[:_NAME_LENGTH_MAX]}/{workload_of_pod(pod)[:_NAME_LENGTH_MAX]}"
    return f"service:{escaped_name(service)}|{counter}"
