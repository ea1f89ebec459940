"""A notification as a mail: a text, and the same as HTML with every name escaped."""

from html import escape
from itertools import chain

from tierscope.domain.notifications.content import Notification, SentAlert, moment, one_line, title
from tierscope.domain.notifications.payloads import worst_severity

_HIDDEN = ("alertname", "severity", "fingerprint")
_STYLE = "font-family:sans-serif;font-size:14px;color:#1b1b1b"
_CELL = "padding:4px 12px 4px 0;vertical-align:top;text-align:left"


def mail_text(notification: Notification) -> str:
    """The plain part."""
    said = [title(notification), ""]
    for heading, alerts in _parts(notification):
        said += [heading, ""]
        for alert in alerts:
            said += [f"- {_what(alert)}", *(f"  {name}: {value}" for name, value in _facts(notification, alert)), ""]
    if notification.more_alerts:
        said += [f"and {notification.more_alerts} more alerts", ""]
    return "\n".join([*said, _closing(notification)])


def mail_html(notification: Notification) -> str:
    """The HTML part."""
    body = [f'<h2 style="font-size:18px">{escape(title(notification))}</h2>']
    for heading, alerts in _parts(notification):
        body.append(f'<h3 style="font-size:15px">{escape(heading)}</h3>')
        for alert in alerts:
            rows = "".join(
                f'<tr><th style="{_CELL};color:#555;font-weight:normal">{escape(name)}</th>'
                f'<td style="{_CELL}">{_linked(value)}</td></tr>'
                for name, value in _facts(notification, alert)
            )
            body.append(f"<p><strong>{escape(_what(alert))}</strong></p><table>{rows}</table>")
    if notification.more_alerts:
        body.append(f"<p>and {notification.more_alerts} more alerts</p>")
    body.append(f'<p style="color:#555">{escape(_closing(notification))}</p>')
    return f'<!doctype html><html><body style="{_STYLE}">{"".join(body)}</body></html>'


def mail_subject(notification: Notification) -> str:
    """One line that mail programs show."""
    severity = f" {worst_severity(notification.firing)}" if notification.is_firing else ""
    return f"Tierscope{severity}: {title(notification)}"[:250]


def _parts(notification: Notification) -> list[tuple[str, list[SentAlert]]]:
    parts = (("Firing", notification.firing), ("Resolved", notification.resolved))
    return [(f"{heading}: {len(alerts)}", alerts) for heading, alerts in parts if alerts]


def _what(alert: SentAlert) -> str:
    return one_line(alert.annotations.get("summary") or alert.labels.get("alertname", "alert"))


def _facts(notification: Notification, alert: SentAlert) -> list[tuple[str, str]]:
    facts = [("rule", alert.labels.get("alertname", "")), ("severity", alert.labels.get("severity", ""))]
    facts.append(("since", moment(alert.starts_at)))
    if alert.ends_at is not None:
        facts.append(("resolved", moment(alert.ends_at)))
    rest = ((name, value) for name, value in sorted(alert.labels.items()) if name not in _HIDDEN)
    notes = ((name, value) for name, value in sorted(alert.annotations.items()) if name != "summary")
    facts += [(one_line(name), one_line(value)) for name, value in chain(rest, notes) if value]
    url = notification.alert_url(alert)
    return [(name, value) for name, value in [*facts, ("shown at", url)] if value]


def _linked(value: str) -> str:
    shown = escape(value)
    return f'<a href="{shown}">{shown}</a>' if value.startswith(("https://", "http://")) else shown


def _closing(notification: Notification) -> str:
    repeated = " It is said again because it still holds." if notification.reason == "repeat" else ""
    return f"Sent by Tierscope to the receiver {notification.receiver}.{repeated}"
