"""What a notification says, before it is put into the form of a receiver."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from tierscope.domain.notifications.groups import Reason
from tierscope.domain.notifications.matchers import Labels
from tierscope.domain.notifications.receivers import Kind

MAX_ALERTS: Mapping[Kind, int] = {
    "webhook": 5000,
    "alertmanager": 500,
    "mail": 200,
    "slack": 200,
    "pagerduty": 200,
    "apprise": 200,
}
"""At most so many alerts in one notification. How many more there are is said; Alertmanager gets all, in several."""


@dataclass(frozen=True, slots=True)
class SentAlert:
    """An alert as it is sent. `annotations` are texts for people: summary, description, runbook_url, value."""

    id: str
    fingerprint: str
    labels: Labels
    annotations: Labels
    starts_at: datetime
    ends_at: datetime | None = None

    @property
    def is_firing(self) -> bool:
        """Whether it still holds."""
        return self.ends_at is None

    def document(self) -> dict[str, Any]:
        """As JSON holds it."""
        return {
            "id": self.id,
            "fingerprint": self.fingerprint,
            "labels": dict(self.labels),
            "annotations": dict(self.annotations),
            "starts_at": self.starts_at.isoformat(),
            "ends_at": None if self.ends_at is None else self.ends_at.isoformat(),
        }

    @staticmethod
    def read(document: Mapping[str, Any]) -> "SentAlert":
        """The alert of a document that `document` made."""
        ends_at = document["ends_at"]
        return SentAlert(
            document["id"],
            document["fingerprint"],
            document["labels"],
            document["annotations"],
            datetime.fromisoformat(document["starts_at"]),
            None if ends_at is None else datetime.fromisoformat(ends_at),
        )


@dataclass(frozen=True, slots=True)
class Notification:
    """One thing said to one receiver. `alerts`: those that fire first, then those that are resolved."""

    id: str
    receiver: str
    group_key: str
    group_labels: Labels
    reason: Reason
    at: datetime
    alerts: tuple[SentAlert, ...]
    more_alerts: int
    public_url: str | None

    @property
    def firing(self) -> list[SentAlert]:
        """Alerts that hold."""
        return [alert for alert in self.alerts if alert.is_firing]

    @property
    def resolved(self) -> list[SentAlert]:
        """Alerts that are over."""
        return [alert for alert in self.alerts if not alert.is_firing]

    @property
    def is_firing(self) -> bool:
        """Whether any of its alerts still holds."""
        return any(alert.is_firing for alert in self.alerts)

    def alert_url(self, alert: SentAlert) -> str:
        """Where the alert is shown; empty where nobody said how people reach the dashboard."""
        return "" if self.public_url is None else f"{self.public_url.rstrip('/')}/alerts/{alert.id}"

    @property
    def alerts_url(self) -> str:
        """Where alerts are shown; empty likewise."""
        return "" if self.public_url is None else f"{self.public_url.rstrip('/')}/alerts"


def common(maps: Iterable[Labels]) -> dict[str, str]:
    """The labels that all have, with the same value."""
    pairs = [set(labels.items()) for labels in maps]
    return dict(sorted(set.intersection(*pairs))) if pairs else {}


def title(notification: Notification) -> str:
    """One line: `[FIRING:2, RESOLVED:1] Ping-pong (service=cache)`; simulated data is called that."""
    counts = [
        f"{word}:{len(alerts)}"
        for word, alerts in (("FIRING", notification.firing), ("RESOLVED", notification.resolved))
        if alerts
    ]
    shared = common(alert.labels for alert in notification.alerts)
    names = sorted({alert.labels.get("alertname", "") for alert in notification.alerts})
    about = names[0] if len(names) == 1 else f"{len(names)} alerts"
    labels: dict[str, str] = {name: value for name, value in shared.items() if name in ("service", "host")}
    labels.update(notification.group_labels)
    details = ", ".join(f"{name}={value}" for name, value in sorted(labels.items()) if name != "alertname" and value)
    mark = "[SIMULATED] " if shared.get("origin") == "simulated" else ""
    test = "[TEST] " if notification.reason == "test" else ""
    return one_line(f"{test}{mark}[{', '.join(counts)}] {about}" + (f" ({details})" if details else ""))


def one_line(text: str) -> str:
    """A text without line breaks and control characters."""
    return " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())


def lines(notification: Notification, alerts: Sequence[SentAlert]) -> list[str]:
    """Alerts in words, one line each."""
    said = []
    for alert in alerts:
        what = alert.annotations.get("summary") or alert.labels.get("alertname", "alert")
        mark = " [simulated]" if alert.labels.get("origin") == "simulated" else ""
        until = "" if alert.ends_at is None else f", resolved {moment(alert.ends_at)}"
        url = notification.alert_url(alert)
        since = f"since {moment(alert.starts_at)}{until}"
        said.append(one_line(f"{what}{mark} ({alert.labels.get('severity', '')}, {since}) {url}"))
    return said


def moment(at: datetime) -> str:
    """A time for people, in UTC to the second."""
    return at.strftime("%Y-%m-%d %H:%M:%S UTC")
