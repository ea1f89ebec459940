"""One notification to one receiver, by the way of its kind."""

import base64
import json
from collections.abc import Mapping
from datetime import datetime

from tierscope.core.apprise_process import send_by_apprise
from tierscope.core.errors import ConfigurationError, OutgoingFailed, OutgoingRefused, Unprocessable
from tierscope.core.mail import Email, MailSender
from tierscope.core.outgoing import Answer, OutgoingCalls
from tierscope.core.secret_values import SecretValues
from tierscope.core.settings import Settings
from tierscope.domain.notifications.backoff import Failure
from tierscope.domain.notifications.content import Notification, one_line
from tierscope.domain.notifications.emails import mail_html, mail_subject, mail_text
from tierscope.domain.notifications.payloads import (
    alertmanager_payload,
    pagerduty_payload,
    plain_payload,
    slack_payload,
    webhook_payload,
    worst_severity,
)
from tierscope.domain.notifications.receivers import PAGERDUTY_URL, Receiver, secret_references

_ANSWER_CHARACTERS = 200
_APPRISE_KINDS = {"critical": "failure", "warning": "warning", "info": "info"}


class NotTaken(Exception):
    """A receiver did not take a notification."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.said)
        self.failure = failure


class Channels:
    """Sends notifications. One object may be used from several threads."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._calls = OutgoingCalls(settings.outgoing)
        self._mail = MailSender(settings.mail)
        self._secrets = SecretValues(settings.outgoing.secrets_dir)

    def send(self, receiver: Receiver, notification: Notification, now: datetime) -> str | None:
        """Sends one notification; returns what is to be known about it though it was taken.

        Raises:
            NotTaken: with why, and what the receiver answered where it did.
        """
        try:
            values = self._values(receiver)
            match receiver.kind:
                case "mail":
                    return self._send_mail(receiver, notification)
                case "apprise":
                    self._send_apprise(values["url"], notification)
                case _:
                    self._post(receiver, values, notification, now)
        except (OutgoingRefused, OutgoingFailed, ConfigurationError, Unprocessable) as error:
            raise NotTaken(Failure(f"{error.detail}. {error.next_step}")) from error
        return None

    def _values(self, receiver: Receiver) -> dict[str, str]:
        """The texts of the settings, secrets filled in."""
        values = {field: value for field, value in receiver.settings.items() if isinstance(value, str)}
        for reference in secret_references(receiver):
            values[reference.field] = self._secrets.read(reference.source, reference.name)
        return values

    def _post(self, receiver: Receiver, values: Mapping[str, str], notification: Notification, now: datetime) -> None:
        document: object
        headers = {"Idempotency-Key": notification.id}
        url = values.get("url", PAGERDUTY_URL)
        match receiver.kind:
            case "slack":
                document = slack_payload(notification, channel=values.get("channel"))
            case "pagerduty":
                document = pagerduty_payload(notification, routing_key=values["routing_key"])
            case "alertmanager":
                url = url.rstrip("/") + "/api/v2/alerts"
                document = alertmanager_payload(notification, now=now, resend_seconds=receiver.resend_seconds)
            case _:
                document = webhook_payload(notification)
        if "token" in values:
            headers["Authorization"] = f"Bearer {values['token']}"
        elif "password" in values:
            pair = f"{values.get('user', '')}:{values['password']}".encode()
            headers["Authorization"] = "Basic " + base64.b64encode(pair).decode()
        body = json.dumps(document, ensure_ascii=False).encode()
        answer = self._calls.send("POST", url, body=body, headers={**headers, "Content-Type": "application/json"})
        if not answer.ok:
            raise NotTaken(Failure(_said(answer), answer.status_code, answer.retry_after_seconds))

    def _send_mail(self, receiver: Receiver, notification: Notification) -> str | None:
        to = receiver.settings["to"]
        assert isinstance(to, tuple)  # as check_receiver asks for
        email = Email(
            to=to,
            subject=mail_subject(notification),
            text=mail_text(notification),
            html=mail_html(notification),
            message_id=f"{notification.id}@tierscope",
        )
        refused = self._mail.send(email)
        return f"the mail server refused {', '.join(refused)}" if refused else None

    def _send_apprise(self, url: str, notification: Notification) -> None:
        title, text = plain_payload(notification)
        kind = _APPRISE_KINDS[worst_severity(notification.firing)] if notification.is_firing else "success"
        send_by_apprise(self._settings.outgoing, url, title=title, text=text, kind=kind)


def _said(answer: Answer) -> str:
    body = one_line(answer.body.decode("utf-8", errors="replace"))[:_ANSWER_CHARACTERS]
    return f"the receiver answered {answer.status_code}" + (f": {body}" if body else "")
