"""The change plan of a fleet as answered: identical changes with their hosts, the bundle, canaries, and drift."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Literal

from tierscope.domain.base.described import Described
from tierscope.domain.base.figures import Figure, Grade, Origin
from tierscope.domain.knobs.bundle import BundleFile
from tierscope.usecases.experiments.views import Excluded
from tierscope.usecases.knobs.answers import KnobEvidence

CellState = Literal["same", "differs", "no_norm", "not_collected", "not_supported"]


@dataclass(frozen=True, slots=True)
class ValueCount:
    """A value that hosts have now, which is the one that takes the change back."""

    value: str
    hosts: int


@dataclass(frozen=True, slots=True)
class PlanHost:
    """A host that gets the change."""

    host_id: str
    name: str
    origin: Origin
    service_ids: tuple[str, ...]
    service_names: tuple[str, ...]
    current: Annotated[str, Described("The value that it has now, which is its rollback value.")]
    stake_bytes: Annotated[float | None, Described("Null where heat of the host is not known.")]
    advice_id: str
    refreshed_at: Annotated[datetime, Described("When the advice was evaluated.")]


@dataclass(frozen=True, slots=True)
class PlanReason:
    """Why hosts get the change: their verdict, with the explanation of one of them."""

    verdict: str
    hosts: int
    explanation: str


@dataclass(frozen=True, slots=True)
class PlanChange:
    """One setting to one value, on all hosts that are advised it."""

    id: Annotated[str, Described("The setting and its value in letters, digits and underscores.")]
    path: str
    setting: Annotated[str, Described("As `sysctl` names it; the path of one that is no sysctl.")]
    proposed: str
    title: str
    rules: Annotated[tuple[str, ...], Described("Rules of docs/method/knobs.md that advise it.")]
    values: Annotated[
        tuple[ValueCount, ...],
        Described("What hosts have now, which are the rollback values; the most frequent first."),
    ]
    reasons: tuple[PlanReason, ...]
    evidence: Annotated[tuple[KnobEvidence, ...], Described("Medians over the hosts.")]
    effect: str
    effect_figure: Annotated[
        Figure | None, Described("The median over hosts whose advice has a number; null where none has.")
    ]
    risk: str
    verify: str
    verify_command: str
    stake_bytes: Annotated[
        Figure, Described("Hot bytes outside DRAM and cold bytes in DRAM of the hosts, as on their advice cards.")
    ]
    grade: Annotated[Grade | None, Described("The weakest of the stakes; null where none is known.")]
    belongs_with: Annotated[tuple[str, ...], Described("Changes that the same advice makes; they go together.")]
    service_names: tuple[str, ...]
    hosts: tuple[PlanHost, ...]


@dataclass(frozen=True, slots=True)
class PlanConflict:
    """Two pieces of advice that want different values of one setting of one host. The host gets neither."""

    host_id: str
    name: str
    path: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A change of a host that is not in the plan, and why."""

    host_id: str
    name: str
    path: str
    why: str


@dataclass(frozen=True, slots=True)
class ChangePlan:
    """Open advice on settings, grouped by identical change, the most at stake first."""

    made_at: datetime
    host_count: Annotated[int, Described("Hosts with a change.")]
    stake_bytes: Annotated[Figure, Described("Of all these hosts, each counted once.")]
    changes: tuple[PlanChange, ...]
    conflicts: tuple[PlanConflict, ...]
    left_out: tuple[LeftOut, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PlanBundle:
    """Files for people and their own automation; nothing is applied by the product."""

    made_at: datetime
    change_ids: tuple[str, ...]
    host_count: int
    files: tuple[BundleFile, ...]


@dataclass(frozen=True, slots=True)
class TrialHost:
    """A host of an arm. `gets_advice`: it is advised the change, too."""

    host_id: str
    name: str
    gets_advice: bool


@dataclass(frozen=True, slots=True)
class TrialService:
    """A service with hosts that get the change."""

    service_id: str
    service_name: str
    hosts: int


@dataclass(frozen=True, slots=True)
class CanaryProposal:
    """Who tries a change first, and who stays as a control. Both arms are empty where `missing` says why."""

    change_id: str
    setting: str
    proposed: str
    title: str
    service_id: str
    service_name: str
    services: Annotated[tuple[TrialService, ...], Described("Services to choose from, the most hosts first.")]
    advice_id: str
    experiment_name: str
    hypothesis: str
    canary: tuple[TrialHost, ...]
    control: tuple[TrialHost, ...]
    seed: Annotated[
        int | None,
        Described("That draws the canary hosts from both arms; null: some control hosts stood beside the draw."),
    ]
    excluded: Annotated[tuple[Excluded, ...], Described("Hosts of the change that are in no arm.")]
    missing: str | None
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DriftSetting:
    """A setting in which hosts differ from what most of their peers have."""

    path: str
    hosts: Annotated[int, Described("Hosts that differ.")]


@dataclass(frozen=True, slots=True)
class DriftCell:
    """A setting of a host beside what more than half of it and its peers have."""

    state: CellState
    value: str | None
    group_norm: str | None
    group_hosts: Annotated[int, Described("Peer hosts whose value is known.")]


@dataclass(frozen=True, slots=True)
class DriftHost:
    """A host that differs in a setting; `cells` in the order of the answer's settings."""

    host_id: str
    name: str
    kernel_release: str | None
    service_ids: tuple[str, ...]
    service_names: tuple[str, ...]
    differing: int
    cells: tuple[DriftCell, ...]


@dataclass(frozen=True, slots=True)
class SettingDrift:
    """Hosts by settings: who is set otherwise than most peers. Hosts and settings without drift are left out."""

    at: datetime
    hosts_compared: Annotated[int, Described("Hosts with settings and enough peers.")]
    hosts_without_peers: Annotated[int, Described("Hosts with settings, and too few peers for a norm.")]
    hosts_without_settings: Annotated[int, Described("Hosts in service whose settings were not collected.")]
    hosts_differing: int
    settings: tuple[DriftSetting, ...]
    hosts: Annotated[tuple[DriftHost, ...], Described("The most differences first; at most `limit`.")]
    notes: tuple[str, ...]
