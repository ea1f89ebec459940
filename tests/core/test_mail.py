"""Mail through a server: what arrives, and what is said when it does not."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from factories.loopback import LOOPBACK
from factories.receivers import MailReceiver, mail_receiver
from tierscope.core.errors import ConfigurationError, OutgoingFailed, TierscopeError, Unprocessable
from tierscope.core.mail import Attachment, Email, MailSender
from tierscope.core.settings import Mail

EMAIL = Email(("a@example.org", "b@example.org"), "Größe", "text\n.\nend", "<p>text</p>", message_id="1@tierscope")


@pytest.fixture
def receiver() -> Iterator[MailReceiver]:
    with mail_receiver() as running:
        yield running


def sender(receiver: MailReceiver, **settings: object) -> MailSender:
    given = {"host": LOOPBACK, "port": receiver.port, "tls": "none", "sender": "tierscope@example.org", **settings}
    return MailSender(Mail.model_validate(given), clock=lambda: datetime(2026, 11, 21, 12, 0, tzinfo=UTC))


def test_a_mail_arrives_with_all_its_parts(receiver: MailReceiver) -> None:
    email = Email(EMAIL.to, EMAIL.subject, EMAIL.text, EMAIL.html, (Attachment("r.pdf", "application/pdf", b"%"),))
    assert sender(receiver).send(email) == ()
    ((origin, recipients, message),) = receiver.letters
    assert (origin, recipients) == ("tierscope@example.org", ["a@example.org", "b@example.org"])
    assert (message["Subject"], message["To"]) == ("Größe", "a@example.org, b@example.org")
    assert message["Date"] == "Sat, 21 Nov 2026 12:00:00 +0000"
    kinds = [part.get_content_type() for part in message.walk() if not part.is_multipart()]
    assert kinds == ["text/plain", "text/html", "application/pdf"]
    body = message.get_body(("plain",))
    assert body is not None
    assert body.get_content().splitlines() == ["text", ".", "end"]


def test_a_repeat_carries_the_same_message_id(receiver: MailReceiver) -> None:
    for _ in range(2):
        sender(receiver).send(EMAIL)
    assert [message["Message-ID"] for _, _, message in receiver.letters] == ["<1@tierscope>"] * 2


def test_refused_recipients_are_named_while_the_others_get_it(receiver: MailReceiver) -> None:
    receiver.refused = {"b@example.org"}
    assert sender(receiver).send(EMAIL) == ("b@example.org",)
    assert [recipients for _, recipients, _ in receiver.letters] == [["a@example.org"]]
    receiver.refused = set(EMAIL.to)
    with pytest.raises(OutgoingFailed, match=r"refused a@example\.org, b@example\.org"):
        sender(receiver).send(EMAIL)


def test_a_server_that_does_not_take_the_mail_is_a_failure(receiver: MailReceiver) -> None:
    receiver.busy = True
    with pytest.raises(OutgoingFailed, match="it answered 451"):
        sender(receiver).send(EMAIL)
    assert receiver.letters == []


def test_a_server_without_starttls_is_not_spoken_to_in_the_clear(receiver: MailReceiver) -> None:
    with pytest.raises(OutgoingFailed, match="no STARTTLS"):
        sender(receiver, tls="starttls").send(EMAIL)
    assert receiver.letters == []


@pytest.mark.parametrize(
    ("email", "settings", "error", "words"),
    [
        (EMAIL, {"host": None}, ConfigurationError, "no mail server"),
        (EMAIL, {"user": "u"}, ConfigurationError, "no password"),
        (EMAIL, {"user": "u", "password_file": Path("/nonexistent/password")}, ConfigurationError, "cannot be read"),
        (Email(("a@example.org\r\nBcc: x@example.org",), "s", "t"), {}, Unprocessable, "characters"),
        (Email(("a@example.org",), "s\r\nBcc: x@example.org", "t"), {}, Unprocessable, "characters"),
        (Email(("a@example.org",), "s\x00", "t"), {}, Unprocessable, "characters"),
        (Email(("no recipients",), "s", "t"), {}, Unprocessable, "characters"),
        (Email((), "s", "t"), {}, Unprocessable, "no recipients"),
    ],
)
def test_what_is_wrong_is_said(
    receiver: MailReceiver, email: Email, settings: dict[str, object], error: type[TierscopeError], words: str
) -> None:
    with pytest.raises(error, match=words):
        sender(receiver, **settings).send(email)
    assert receiver.letters == []


def test_nobody_there_is_said(receiver: MailReceiver) -> None:
    with pytest.raises(OutgoingFailed, match="no connection"):
        sender(receiver, port=1).send(EMAIL)
