"""Why an open alert is quiet now: silences, inhibitions, acknowledgement. For those who show alerts."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from tierscope.core.database import ReadSession
from tierscope.domain.notifications.silences import FiringAlert, Muted, Muting
from tierscope.storage.notification_groups import read_firing
from tierscope.storage.routes import read_stored_routing
from tierscope.storage.silences import Acknowledgement, acknowledgements_of, open_alerts, silences_in_force


@dataclass(frozen=True, slots=True)
class Quiet:
    """What keeps one alert from being sent or repeated."""

    acknowledged: Acknowledgement | None = None
    silenced_by: tuple[str, ...] = ()
    inhibited_by: tuple[str, ...] = ()


def load_muting(session: ReadSession, now: datetime) -> Muting:
    """Silences and inhibitions in force at `now`."""
    inhibitions = read_stored_routing(session).routing.inhibitions
    firing = [FiringAlert(event.alert.id, event.alert.labels) for event in read_firing(session)] if inhibitions else []
    return Muting(now, silences_in_force(session, now), inhibitions, firing)


def find_quiet(session: ReadSession, alert_ids: Sequence[str], now: datetime) -> dict[str, Quiet]:
    """Why alerts are quiet, by public id; resolved ones can only be acknowledged."""
    wanted = set(alert_ids)
    acknowledged = acknowledgements_of(session, alert_ids)
    muting = load_muting(session, now)
    muted = {alert.id: muting.judge(alert.id, alert.labels) for alert in open_alerts(session) if alert.id in wanted}
    found = {}
    for alert_id in alert_ids:
        by = muted.get(alert_id, Muted())
        found[alert_id] = Quiet(acknowledged.get(alert_id), by.silenced_by, by.inhibited_by)
    return found
