"""What keeps an alert from being sent: silences, which people set for a time, and inhibitions, which stand for good.

An inhibition mutes alerts that match its target while another alert fires that matches its source and has the same
values in the labels of `equal`; two alerts without such a label are equal in it. An alert that matches both sides does
not mute others that match both: else two of them would mute each other.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from tierscope.domain.notifications.matchers import Labels, Matcher, all_match

SilenceStatus = Literal["pending", "active", "expired"]


@dataclass(frozen=True, slots=True)
class Silence:
    """Alerts that match are not sent in [starts_at, ends_at)."""

    id: str
    matchers: tuple[Matcher, ...]
    starts_at: datetime
    ends_at: datetime

    def status(self, now: datetime) -> SilenceStatus:
        """Whether it is still to come, in force or over."""
        if now >= self.ends_at:
            return "expired"
        return "active" if now >= self.starts_at else "pending"


@dataclass(frozen=True, slots=True)
class Inhibition:
    """Alerts of the target are not sent while an alert of the source fires."""

    source_matchers: tuple[Matcher, ...]
    target_matchers: tuple[Matcher, ...]
    equal: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FiringAlert:
    """An alert that may be the source of an inhibition."""

    id: str
    labels: Labels


@dataclass(frozen=True, slots=True)
class Muted:
    """By what an alert is muted: ids of silences, and of the alerts that inhibit it."""

    silenced_by: tuple[str, ...] = ()
    inhibited_by: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.silenced_by or self.inhibited_by)


class Muting:
    """Judges many alerts at one moment: sources of inhibitions are indexed once."""

    def __init__(
        self,
        now: datetime,
        silences: Iterable[Silence],
        inhibitions: Sequence[Inhibition],
        firing: Sequence[FiringAlert],
    ) -> None:
        self._silences = [silence for silence in silences if silence.status(now) == "active"]
        self._inhibitions = inhibitions
        self._sources = [_index_sources(inhibition, firing) for inhibition in inhibitions]

    def judge(self, alert_id: str, labels: Labels) -> Muted:
        """By what one alert is muted."""
        silenced = tuple(silence.id for silence in self._silences if all_match(silence.matchers, labels))
        inhibited: dict[str, None] = {}
        for inhibition, sources in zip(self._inhibitions, self._sources, strict=True):
            if not sources or not all_match(inhibition.target_matchers, labels):
                continue
            both = all_match(inhibition.source_matchers, labels)
            for source, source_is_target in sources.get(_shared(inhibition, labels), ()):
                if source != alert_id and not (both and source_is_target):
                    inhibited[source] = None
        return Muted(silenced, tuple(inhibited))


def _shared(inhibition: Inhibition, labels: Labels) -> tuple[str, ...]:
    return tuple(labels.get(name, "") for name in inhibition.equal)


def _index_sources(
    inhibition: Inhibition, firing: Sequence[FiringAlert]
) -> dict[tuple[str, ...], list[tuple[str, bool]]]:
    """Sources by the values of `equal`, each with whether it matches the target as well."""
    found: dict[tuple[str, ...], list[tuple[str, bool]]] = {}
    for alert in firing:
        if all_match(inhibition.source_matchers, alert.labels):
            entry = (alert.id, all_match(inhibition.target_matchers, alert.labels))
            found.setdefault(_shared(inhibition, alert.labels), []).append(entry)
    return found
