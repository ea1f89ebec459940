"""Pods of a Kubernetes cluster on the hosts that are its nodes."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Literal

from tierscope.domain.base.described import Described
from tierscope.domain.base.figures import Origin

OwnerSource = Literal["api", "name"]


@dataclass(frozen=True, slots=True)
class Pod:
    """A pod on its node. Null where something is not known."""

    uid: str
    namespace: str | None
    pod: str | None
    owner_kind: Annotated[str | None, Described("Deployment, StatefulSet, DaemonSet, CronJob, Job, ...")]
    owner: str | None
    owner_source: Annotated[
        OwnerSource | None,
        Described("api = the cluster says it, and with no owner that there is none; name = it follows from the name."),
    ]
    node: Annotated[str, Described("The node as the cluster calls it, where the agent was told its name.")]
    host_id: str
    host: str
    service_id: Annotated[str | None, Described("The service that most of its processes are counted to.")]
    service: str | None
    labels: Annotated[
        dict[str, str] | None,
        Described("Those that the agent's settings list; null where the agent does not ask the cluster."),
    ]
    first_seen_at: Annotated[datetime, Described("When an inventory listed it first.")]
    origin: Origin


@dataclass(frozen=True, slots=True)
class PodsState:
    """What a host says of its pods as a whole."""

    at: Annotated[datetime, Described("When the list changed last, or was sent again.")]
    n_pods: int
    left_out: Annotated[int, Described("Pods beyond the 512 that an agent lists.")]
    unavailable: Annotated[
        str | None, Described("Why names, owners or labels are not known as the agent's settings want.")
    ]


@dataclass(frozen=True, slots=True)
class PodOwner:
    """What owns the pods of a service."""

    kind: str | None
    name: str
    source: OwnerSource
