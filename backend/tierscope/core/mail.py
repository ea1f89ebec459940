"""Mail through the server of the settings. Its address comes from the settings alone, so that it is not guarded."""

import smtplib
import ssl
from dataclasses import dataclass
from email.headerregistry import Address
from email.message import EmailMessage
from email.utils import format_datetime

from tierscope.core.clock import Clock, utc_now
from tierscope.core.errors import ConfigurationError, OutgoingFailed, Unprocessable
from tierscope.core.settings import Mail

_UNFIT = "an address or the subject of the mail has characters that no mail can carry"


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file that goes with a mail; `media_type` such as `application/pdf`."""

    name: str
    media_type: str
    body: bytes


@dataclass(frozen=True, slots=True)
class Email:
    """One mail. `message_id` without brackets: the same one for the same content, so that a repeat can be told."""

    to: tuple[str, ...]
    subject: str
    text: str
    html: str | None = None
    attachments: tuple[Attachment, ...] = ()
    message_id: str | None = None


class MailSender:
    """Sends mail."""

    def __init__(self, settings: Mail, *, clock: Clock = utc_now) -> None:
        self._settings = settings
        self._clock = clock

    def send(self, email: Email) -> tuple[str, ...]:
        """Hands a mail to the server; the recipients that it refused while it took the mail for others.

        Raises:
            ConfigurationError: no mail server is configured, or its password cannot be read.
            Unprocessable: an address or the subject cannot stand in a mail.
            OutgoingFailed: the server cannot be reached, or refused the mail or all recipients.
        """
        settings = self._settings
        if settings.host is None:
            raise ConfigurationError(
                "no mail server is configured", next_step="Set TIERSCOPE_MAIL__HOST and TIERSCOPE_MAIL__SENDER."
            )
        message = self._message(email)
        try:
            with self._connect(settings.host) as server:
                if settings.user is not None:
                    server.login(settings.user, self._password())
                refused = server.send_message(message, from_addr=settings.sender, to_addrs=list(email.to))
        except smtplib.SMTPRecipientsRefused as error:
            names = ", ".join(error.recipients)
            raise OutgoingFailed(f"the mail server {settings.host}:{settings.port} refused {names}") from error
        except (OSError, smtplib.SMTPException) as error:
            raise OutgoingFailed(f"the mail server {settings.host}:{settings.port}: {_cause(error)}") from error
        return tuple(refused)

    def _connect(self, host: str) -> smtplib.SMTP:
        settings = self._settings
        if settings.tls == "tls":
            context = ssl.create_default_context()
            return smtplib.SMTP_SSL(host, settings.port, timeout=settings.total_seconds, context=context)
        server = smtplib.SMTP(host, settings.port, timeout=settings.total_seconds)
        if settings.tls == "starttls":
            try:
                server.starttls(context=ssl.create_default_context())
            except BaseException:
                server.close()
                raise
        return server

    def _password(self) -> str:
        if self._settings.password_file is None:
            raise ConfigurationError(
                "the mail server has a user and no password", next_step="Set TIERSCOPE_MAIL__PASSWORD_FILE."
            )
        try:
            return self._settings.password_file.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeError) as error:
            raise ConfigurationError("TIERSCOPE_MAIL__PASSWORD_FILE cannot be read") from error

    def _message(self, email: Email) -> EmailMessage:
        if not email.to:
            raise Unprocessable("the mail has no recipients", next_step="Name at least one recipient.")
        if "\0" in email.subject or not all("@" in address for address in email.to):
            raise Unprocessable(_UNFIT)
        message = EmailMessage()
        try:
            message["From"] = Address(addr_spec=self._settings.sender)
            message["To"] = ", ".join(str(Address(addr_spec=address)) for address in email.to)
            message["Subject"] = email.subject
            message["Date"] = format_datetime(self._clock())
            if email.message_id is not None:
                message["Message-ID"] = f"<{email.message_id}>"
            message["Auto-Submitted"] = "auto-generated"
        except (ValueError, IndexError) as error:
            raise Unprocessable(
                "an address or the subject of the mail has characters that no mail can carry"
            ) from error
        message.set_content(email.text)
        if email.html is not None:
            message.add_alternative(email.html, subtype="html")
        for attachment in email.attachments:
            main, _, sub = attachment.media_type.partition("/")
            message.add_attachment(attachment.body, maintype=main, subtype=sub, filename=attachment.name)
        return message


def _cause(error: Exception) -> str:
    if isinstance(error, smtplib.SMTPAuthenticationError):
        return "it refused user and password"
    if isinstance(error, smtplib.SMTPNotSupportedError):
        return "it offers no STARTTLS; set TIERSCOPE_MAIL__TLS"
    if isinstance(error, smtplib.SMTPResponseException):
        return f"it answered {error.smtp_code}"
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its TLS certificate cannot be trusted ({error.verify_message})"
    return "no connection, or none in time"
