"""What each kind of receiver gets, sent for real to receivers on loopback."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from factories.loopback import LOOPBACK
from factories.notifying import Notifying, receiver, route
from factories.receivers import MailReceiver, WebReceiver, mail_receiver
from tierscope.core.database import Database
from tierscope.core.settings import Settings

pytestmark = pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
HOSTILE = "<b>x</b> <!channel> & =cmd()"


@pytest.fixture
def mail() -> Iterator[MailReceiver]:
    with mail_receiver() as running:
        yield running


@pytest.fixture
def notifying(database_url: str, mail: MailReceiver, tmp_path: Path) -> Iterator[Notifying]:
    settings = {
        "outgoing": {"allow": "127.0.0.0/8", "secrets_dir": tmp_path},
        "mail": {"host": LOOPBACK, "port": mail.port, "tls": "none", "sender": "alerts@example.org"},
        "public_url": "https://tierscope.example.org/",
    }
    with closing(Database(database_url)) as database:
        yield Notifying(database, settings=Settings.model_validate(settings))


def tell(notifying: Notifying, made: dict[str, Any], **about: Any) -> None:  # noqa: ANN401 - as change_alert takes it
    """An alert fires and is resolved on the way to one receiver."""
    notifying.put_routes([made], [route(made["name"])])
    notifying.change("a1", "firing", **about)
    notifying.run()
    notifying.clock.move(600)
    notifying.change("a1", "resolved", **about)
    notifying.run()
    assert [(entry.status, entry.said) for entry in notifying.log()] == [("delivered", None)] * 2


def test_mail_says_all_of_it_as_text_and_html(notifying: Notifying, mail: MailReceiver) -> None:
    tell(
        notifying, receiver("team", "mail", to=["a@example.org", "b@example.org"]), summary=HOSTILE, severity="critical"
    )
    assert len(mail.letters) == 2
    sender, recipients, letter = mail.letters[0]
    assert (sender, recipients) == ("alerts@example.org", ["a@example.org", "b@example.org"])
    assert letter["Subject"] == "Tierscope critical: [FIRING:1] Ping-pong (service=cache)"
    assert letter["Message-ID"] == f"<{notifying.log()[0].id}@tierscope>"
    plain, html = letter.get_body(("plain",)), letter.get_body(("html",))
    assert plain is not None
    assert html is not None
    assert HOSTILE in plain.get_content()
    assert "since: 2026-11-21 12:00:00 UTC" in plain.get_content()
    assert "&lt;b&gt;x&lt;/b&gt; &lt;!channel&gt; &amp; =cmd()" in html.get_content()
    assert "<b>" not in html.get_content()
    assert 'href="https://tierscope.example.org/alerts/a1"' in html.get_content()
    assert mail.letters[1][2]["Subject"] == "Tierscope: [RESOLVED:1] Ping-pong (service=cache)"


def test_a_refused_recipient_is_told_in_the_log_and_the_others_get_it_once(
    notifying: Notifying, mail: MailReceiver
) -> None:
    mail.refused = {"b@example.org"}
    notifying.put_routes([receiver("team", "mail", to=["a@example.org", "b@example.org"])], [route("team")])
    notifying.change("a1", "firing")
    notifying.run()
    notifying.run(600)
    assert [recipients for _, recipients, _ in mail.letters] == [["a@example.org"]]
    assert notifying.log()[0].said == "the mail server refused b@example.org"


def test_a_busy_mail_server_gets_it_later(notifying: Notifying, mail: MailReceiver) -> None:
    mail.busy = True
    notifying.put_routes([receiver("team", "mail", to=["a@example.org"])], [route("team")])
    notifying.change("a1", "firing")
    assert notifying.run().failed == 1
    mail.busy = False
    assert notifying.run(5).sent == 1
    assert len(mail.letters) == 1


def test_slack_gets_a_message_in_which_names_address_nobody(
    notifying: Notifying, web: WebReceiver, tmp_path: Path
) -> None:
    (tmp_path / "slack").write_text(web.url + "\n", encoding="utf-8")
    tell(notifying, receiver("chat", "slack", url_file="slack", channel="#memory"), summary=HOSTILE, origin="simulated")
    first, second = (got.json() for got in web.requests)
    assert first["channel"] == "#memory"
    assert first["text"] == "[SIMULATED] [FIRING:1] Ping-pong (service=cache)"
    attachment = first["attachments"][0]
    assert attachment["color"] == "#ef6c00"
    assert attachment["text"].startswith(
        "&lt;b&gt;x&lt;/b&gt; &lt;!channel&gt; &amp; =cmd() [simulated] (warning, since "
    )
    assert attachment["text"].endswith("https://tierscope.example.org/alerts/a1")
    assert second["text"] == "[SIMULATED] [RESOLVED:1] Ping-pong (service=cache)"
    assert second["attachments"][0]["color"] == "#2e7d32"


def test_pagerduty_gets_a_trigger_and_a_resolve_of_one_incident(
    notifying: Notifying, web: WebReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIERSCOPE_SECRET_PAGER", "key-of-32-characters")
    made = receiver("pager", "pagerduty", routing_key="${TIERSCOPE_SECRET_PAGER}", url=web.url)
    tell(notifying, made, severity="critical")
    trigger, resolve = (got.json() for got in web.requests)
    assert (trigger["event_action"], resolve["event_action"]) == ("trigger", "resolve")
    assert trigger["dedup_key"] == resolve["dedup_key"]
    assert trigger["routing_key"] == "key-of-32-characters"
    assert "payload" not in resolve
    payload = trigger["payload"]
    assert (payload["summary"], payload["severity"]) == ("[FIRING:1] Ping-pong (service=cache)", "critical")
    assert (payload["source"], payload["timestamp"]) == ("cache", "2026-11-21T12:00:00.000Z")
    assert trigger["client_url"] == "https://tierscope.example.org/alerts"


def test_a_webhook_with_a_token_carries_it(notifying: Notifying, web: WebReceiver, tmp_path: Path) -> None:
    (tmp_path / "hook-token").write_text("open-sesame\n", encoding="utf-8")
    tell(notifying, receiver("hook", "webhook", url=web.url, token_file="hook-token"))
    assert {got.headers["Authorization"] for got in web.requests} == {"Bearer open-sesame"}


def test_an_alertmanager_with_a_password_gets_it(notifying: Notifying, web: WebReceiver, tmp_path: Path) -> None:
    (tmp_path / "am").write_text("secret", encoding="utf-8")
    tell(notifying, receiver("am", "alertmanager", url=web.url + "/", user="u", password_file="am"))
    assert {got.headers["Authorization"] for got in web.requests} == {"Basic dTpzZWNyZXQ="}
    assert {got.path for got in web.requests} == {"/hook/api/v2/alerts"}


def test_a_secret_that_is_not_there_is_named_and_sending_goes_on_once_it_is(
    notifying: Notifying, web: WebReceiver, tmp_path: Path
) -> None:
    notifying.put_routes([receiver("chat", "slack", url_file="later")], [route("chat")])
    notifying.change("a1", "firing")
    notifying.run()
    (waiting,) = notifying.log()
    assert waiting.said == "the secret file later is empty or not there. Set it where the service runs."
    (tmp_path / "later").write_text(web.url, encoding="utf-8")
    assert notifying.run(5).sent == 1


def test_further_channels_go_through_apprise(notifying: Notifying, web: WebReceiver, tmp_path: Path) -> None:
    (tmp_path / "channel").write_text(f"json://{LOOPBACK}:{web.port}/hook", encoding="utf-8")
    tell(notifying, receiver("further", "apprise", url_file="channel"), summary=HOSTILE)
    first, second = (got.json() for got in web.requests)
    assert first["title"] == "[FIRING:1] Ping-pong (service=cache)"
    assert HOSTILE in first["message"]
    assert (first["type"], second["type"]) == ("warning", "success")


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("json://127.0.0.1:{port}/", "the channel leads to the internal address 127.0.0.1"),
        ("json://localhost:{port}/", "the channel leads to the internal address"),
        ("mailto://user:word@example.org:{port}?smtp=127.0.0.1&to=a@example.org", "leads to the internal address"),
        ("syslog://", "the channel would talk to this machine"),
        ("nothing-like-this://x", "apprise knows no such URL"),
    ],
)
def test_what_apprise_would_reach_inside_is_refused_however_it_goes_there(
    notifying: Notifying, web: WebReceiver, tmp_path: Path, url: str, said: str
) -> None:
    closed = notifying.settings.outgoing.model_copy(update={"allow": ()})
    notifying.settings = notifying.settings.model_copy(update={"outgoing": closed})
    (tmp_path / "channel").write_text(url.format(port=web.port), encoding="utf-8")
    notifying.put_routes([receiver("further", "apprise", url_file="channel")], [route("further")])
    notifying.change("a1", "firing")
    assert notifying.run().failed == 1
    assert said in (notifying.log()[0].said or "")
    assert web.requests == []
