"""The class of a service by what limits its hosts' memory."""

from collections.abc import Sequence
from dataclasses import dataclass

from tierscope.core.database import ReadSession
from tierscope.domain.base.figures import Grade, Window
from tierscope.domain.ratio import ServiceClass
from tierscope.usecases.ratio.hardware import KnownMemory, read_hardware_facts

_LOW = "Whether a service limited by latency cares follows from its slowdown, which the ratio advice judges."


@dataclass(frozen=True, slots=True)
class ObjectiveClass:
    """What limits the service; null with the reason where it is not known."""

    name: ServiceClass | None
    grade: Grade | None
    why: str


def read_class(session: ReadSession, host_ids: Sequence[int], window: Window, memory: KnownMemory) -> ObjectiveClass:
    """The class that the memory of the service's hosts has."""
    bound = read_hardware_facts(session, host_ids, window, memory_of=memory.newest(session, host_ids)).bound
    why = f"{bound.sentence} {_LOW}" if bound.name == "latency" else bound.sentence
    return ObjectiveClass(bound.name, bound.grade, why)
