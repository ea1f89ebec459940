"""A notification in the form of each kind of receiver.

Sources: Prometheus Alertmanager, "webhook_config" (JSON version 4) and its OpenAPI document of the v2 API; PagerDuty
"Events API v2"; Slack "incoming webhooks" and "Formatting text for app surfaces".
"""

import hashlib
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from tierscope.domain.notifications.content import Notification, SentAlert, common, lines, one_line, title

_NO_TIME = "0001-01-01T00:00:00Z"
"""How Alertmanager writes that something has not ended."""
_PAGERDUTY_SUMMARY = 1024
_LINES = 20
"""Alerts that a message for people writes out; how many more there are is said."""
_LINE_CHARACTERS = 300
_KEEP_ALIVE_TIMES = 4
_SEVERITIES = ("critical", "warning", "info")
_COLOURS = {"critical": "#c62828", "warning": "#ef6c00", "info": "#1565c0", "resolved": "#2e7d32"}

Document = dict[str, Any]


def stamp(at: datetime) -> str:
    """A time as RFC 3339 in UTC, to the millisecond."""
    return at.strftime("%Y-%m-%dT%H:%M:%S.") + f"{at.microsecond // 1000:03d}Z"


def webhook_payload(notification: Notification) -> Document:
    """The JSON of Alertmanager's webhook, version 4."""
    return {
        "version": "4",
        "groupKey": notification.group_key,
        "truncatedAlerts": notification.more_alerts,
        "status": "firing" if notification.is_firing else "resolved",
        "receiver": notification.receiver,
        "groupLabels": dict(notification.group_labels),
        "commonLabels": common(alert.labels for alert in notification.alerts),
        "commonAnnotations": common(alert.annotations for alert in notification.alerts),
        "externalURL": notification.public_url or "",
        "alerts": [
            {
                "status": "firing" if alert.is_firing else "resolved",
                "labels": dict(alert.labels),
                "annotations": dict(alert.annotations),
                "startsAt": stamp(alert.starts_at),
                "endsAt": _NO_TIME if alert.ends_at is None else stamp(alert.ends_at),
                "generatorURL": notification.alert_url(alert),
                "fingerprint": alert.fingerprint,
            }
            for alert in notification.alerts
        ],
    }


def slack_payload(notification: Notification, *, channel: str | None) -> Document:
    """A message for Slack's incoming webhooks and those that take the same. Names from hosts cannot address people."""
    colour = _COLOURS[worst_severity(notification.firing)] if notification.is_firing else _COLOURS["resolved"]
    said = "\n".join(_escape_slack(line) for line in _all_lines(notification))
    heading = _escape_slack(title(notification))
    message: Document = {
        "text": heading,
        "attachments": [{"color": colour, "fallback": heading, "text": said, "mrkdwn_in": []}],
        "mrkdwn": False,
    }
    return message if channel is None else {**message, "channel": channel}


def pagerduty_payload(notification: Notification, *, routing_key: str) -> Document:
    """An event of PagerDuty's Events API v2: one incident per group, whose key is the same from trigger to resolve."""
    event: Document = {
        "routing_key": routing_key,
        "dedup_key": hashlib.sha256(notification.group_key.encode()).hexdigest(),
        "event_action": "trigger" if notification.is_firing else "resolve",
        "client": "Tierscope",
    }
    if notification.alerts_url:
        event["client_url"] = notification.alerts_url
    if not notification.is_firing:
        return event
    shared = common(alert.labels for alert in notification.firing)
    return {
        **event,
        "payload": {
            "summary": title(notification)[:_PAGERDUTY_SUMMARY],
            "source": shared.get("host") or shared.get("service") or "tierscope",
            "severity": worst_severity(notification.firing),
            "timestamp": stamp(min(alert.starts_at for alert in notification.firing)),
            "class": shared.get("alertname", ""),
            "group": shared.get("service", ""),
            "custom_details": {
                "firing": lines(notification, notification.firing[:_LINES]),
                "resolved": lines(notification, notification.resolved[:_LINES]),
                "labels": shared,
                "more_alerts": notification.more_alerts,
            },
        },
    }


def alertmanager_payload(notification: Notification, *, now: datetime, resend_seconds: float) -> list[Document]:
    """Alerts for Alertmanager's `POST /api/v2/alerts`.

    What fires ends four resends from now unless it is sent again, as Prometheus does it: an Alertmanager that hears no
    more of us resolves what we cannot vouch for.
    """
    until = now + timedelta(seconds=_KEEP_ALIVE_TIMES * resend_seconds)
    return [
        {
            "labels": {name: value for name, value in alert.labels.items() if value},
            "annotations": {name: value for name, value in alert.annotations.items() if value},
            "startsAt": stamp(alert.starts_at),
            "endsAt": stamp(until if alert.ends_at is None else alert.ends_at),
            "generatorURL": notification.alert_url(alert),
        }
        for alert in notification.alerts
    ]


def plain_payload(notification: Notification) -> tuple[str, str]:
    """Title and text, for channels that take no more."""
    return title(notification), "\n".join(_all_lines(notification))


def worst_severity(alerts: Sequence[SentAlert]) -> str:
    """The highest severity of alerts; `warning` where none says one."""
    found = {alert.labels.get("severity") for alert in alerts}
    return next((severity for severity in _SEVERITIES if severity in found), "warning")


def _all_lines(notification: Notification) -> list[str]:
    alerts = [*notification.firing, *notification.resolved]
    said = [line[:_LINE_CHARACTERS] for line in lines(notification, alerts[:_LINES])]
    more = len(alerts) - len(said) + notification.more_alerts
    return [*said, f"and {more} more alerts"] if more else said


def _escape_slack(text: str) -> str:
    return one_line(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
