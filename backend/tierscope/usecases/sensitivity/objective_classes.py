"""The class of a service by what memory limits it, as far as its hosts alone tell."""

from collections.abc import Sequence
from dataclasses import dataclass

from tierscope.core.database import ReadSession
from tierscope.domain.base.figures import Window
from tierscope.domain.ratio import ServiceClass, classify_service
from tierscope.domain.ratio.choice import LATENCY_UTILISATION
from tierscope.usecases.ratio.hardware import read_hardware_facts
from tierscope.usecases.ratio.service_class import utilise

_LOW = (
    "DRAM runs below half of its bandwidth: whether the service waits for memory or does not care follows from its "
    "slowdown, which the ratio advice judges."
)
_BUSY = "by the bandwidth that DRAM delivers and what is measured of its use"


@dataclass(frozen=True, slots=True)
class ObjectiveClass:
    """What limits the service; null with the reason where it is not known."""

    name: ServiceClass | None
    why: str


def read_class(session: ReadSession, host_ids: Sequence[int], window: Window) -> ObjectiveClass:
    """The class by bandwidth; a service with bandwidth to spare is told apart by the ratio advice alone."""
    hardware = read_hardware_facts(session, host_ids, window)
    used = utilise(hardware)
    if used.value is None:
        return ObjectiveClass(None, used.reason or "the use of DRAM's bandwidth is not known")
    if used.value < LATENCY_UTILISATION:
        return ObjectiveClass(None, _LOW)
    risen = hardware.memory.loaded_over_idle(used.value)
    name = classify_service(dram_utilisation_p95=used.value, loaded_over_idle=risen or 1.0, upper_loss_at_even=1.0)
    return ObjectiveClass(name, _BUSY)
