"""Reports: what they hold, that names stay text, and that everyone gets each one at least once, and only once."""

import base64
from datetime import datetime, timedelta
from email.message import EmailMessage
from typing import Any

import pytest
from sqlalchemy import text

from factories.capacity import GIB, NOW, CapacityFleet, make_fleet
from factories.loopback import LOOPBACK
from factories.receivers import mail_receiver, web_receiver
from factories.waiting import DEADLINE_SECONDS
from tierscope.core.database import Database
from tierscope.core.errors import NotFound, OutgoingRefused, Unprocessable
from tierscope.core.settings import Mail, Outgoing, Settings
from tierscope.usecases.base.context import ReadContext
from tierscope.usecases.capacity.update import UpdateCapacity
from tierscope.usecases.reports.content import SECTIONS
from tierscope.usecases.reports.deliver import MAX_ATTEMPTS, RETRY, DeliverReports
from tierscope.usecases.reports.schedules import NewReport, Reports

pytestmark = pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
HOSTILE = "prod/<img src=x onerror=alert(1)>"


class Clock:
    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> datetime:
        return self.now


def new(**changes: Any) -> NewReport:  # noqa: ANN401 - fields of the report
    wanted: dict[str, Any] = {
        "name": "Weekly",
        "cron": None,
        "every_days": 7,
        "at": "14:00",
        "format": "html",
        "mail": (),
        "webhook": None,
        "sections": SECTIONS,
    }
    return NewReport(**{**wanted, **changes})


def settings(*, mail_port: int = 1, allow: tuple[str, ...] = ()) -> Settings:
    mail = Mail(host=LOOPBACK, port=mail_port, tls="none", sender="tierscope@example.com")
    return Settings(mail=mail, outgoing=Outgoing(allow=allow, total_seconds=DEADLINE_SECONDS))


def forecast_fleet(database: Database) -> CapacityFleet:
    """Two weeks and a half of a service whose name is hostile text."""
    fleet = make_fleet(database, HOSTILE, [(100.0 + i) * GIB for i in range(17)], hosts=2, origin="simulated")
    while UpdateCapacity(database, lambda: NOW).run().days:
        pass
    return fleet


def test_a_report_holds_figures_forecast_and_alerts_and_names_stay_text(database: Database) -> None:
    fleet = forecast_fleet(database)
    with database.write() as transaction:
        transaction.execute(
            text(
                "INSERT INTO advice (public_id, kind, key, service_id, title, body, status, expires_at) VALUES"
                " ('a', 'ratio', 'ratio', :service, '<b>Less DRAM</b>', CAST(:body AS jsonb), 'open', :at)"
            ),
            {"service": fleet.service, "body": '{"sentence": "2:1 & enough"}', "at": NOW + timedelta(days=1)},
        )
    reports = Reports(fleet.context())
    page = reports.preview_html("Weekly <script>", SECTIONS)
    for raw in ("<img", "<script", "<b>Less", "http://", "https://"):
        assert raw not in page
    for shown in (
        "prod/&lt;img src=x onerror=alert(1)&gt;",
        "&lt;b&gt;Less DRAM&lt;/b&gt;",
        "2:1 &amp; enough",
        "Weekly &lt;script&gt;",
        "Some of what follows is simulated",
        "straight line",
        '<polygon class="band95"',
        "+1.50 GiB a day",
        "No alert is open.",
    ):
        assert shown in page, shown
    only = reports.preview_html("Advice", ("advice",))
    assert ("<h2>Advice</h2>" in only, "<h2>Capacity</h2>" in only, "<h2>Alerts</h2>" in only) == (True, False, False)
    pdf = reports.preview_pdf("Weekly <script>", SECTIONS)
    assert pdf.startswith(b"%PDF-")
    assert pdf == reports.preview_pdf("Weekly <script>", SECTIONS)


def test_an_empty_installation_has_a_report_too(database: Database) -> None:
    reports = Reports(ReadContext(database, lambda: NOW, Settings()))
    page = reports.preview_html("Nothing yet", SECTIONS)
    assert "No daily point of any service or host yet" in page
    assert "No advice is open." in page
    assert reports.preview_pdf("Nothing yet", SECTIONS).startswith(b"%PDF-")


def test_everyone_gets_a_due_report_once_by_mail_and_webhook(database: Database) -> None:
    clock = Clock()
    with mail_receiver() as mail, web_receiver() as web:
        context = ReadContext(database, clock, settings(mail_port=mail.port, allow=(web.place,)))
        made = Reports(context).create(
            new(mail=("a@example.com", "b@example.com"), webhook=web.url + "?secret=1", format="both"), actor="ann"
        )
        assert made.next_at == NOW + timedelta(hours=1)
        assert made.to.webhook == f"http://{web.place}/…"
        assert DeliverReports(context).run().sent == 0
        clock.now = made.next_at + timedelta(seconds=30)
        assert DeliverReports(context).run().sent == 1
        assert DeliverReports(context).run().sent == 0
        assert [recipients for _, recipients, _ in mail.letters] == [["a@example.com"], ["b@example.com"]]
        letter = mail.letters[0][2]
        assert letter["Subject"] == "Weekly (2026-11-21)"
        page, attached = letter.get_body(("html",)), list(letter.iter_attachments())
        assert isinstance(page, EmailMessage)
        assert "<h1>Weekly</h1>" in page.get_content()
        assert [part.get_content_type() for part in attached] == ["application/pdf"]
        assert attached[0].get_content().startswith(b"%PDF-")
        [call] = web.requests
        body = call.json()
        assert (body["type"], body["report_id"], body["name"]) == ("tierscope.report", made.id, "Weekly")
        assert base64.b64decode(body["pdf_base64"]).startswith(b"%PDF-")
        assert call.headers["Idempotency-Key"] == body["id"]
        assert len({letter["Message-ID"] for _, _, letter in mail.letters}) == 2
    reports = Reports(context)
    [run] = reports.runs(made.id, limit=10, cursor=None).items
    assert (run.state, run.attempts, run.error) == ("sent", 1, None)
    assert set(run.sent) == {"a@example.com", "b@example.com", f"http://{web.place}/…"}
    [listed] = reports.list()
    assert listed.next_at == made.next_at + timedelta(days=7)
    assert listed.last_run == run


def test_who_could_not_be_reached_gets_it_later_and_nobody_twice(database: Database) -> None:
    clock = Clock()
    with mail_receiver() as mail, web_receiver() as web:
        mail.refused.add("b@example.com")
        web.statuses = [503]
        context = ReadContext(database, clock, settings(mail_port=mail.port, allow=(web.place,)))
        made = Reports(context).create(new(mail=("a@example.com", "b@example.com"), webhook=web.url), actor="ann")
        clock.now = made.next_at
        first = DeliverReports(context).run()
        assert (first.sent, first.waiting) == (0, 1)
        [run] = Reports(context).runs(made.id, limit=10, cursor=None).items
        assert (run.state, run.sent) == ("running", ("a@example.com",))
        assert "refused b@example.com" in (run.error or "")
        assert "503" in (run.error or "")
        assert DeliverReports(context).run().waiting == 0  # not before the wait is over
        mail.refused.clear()
        clock.now += RETRY
        assert DeliverReports(context).run().sent == 1
        assert [recipients for _, recipients, _ in mail.letters] == [["a@example.com"], ["b@example.com"]]
        keys = {call.headers["Idempotency-Key"] for call in web.requests}
        assert (len(web.requests), len(keys)) == (2, 1)


def test_a_sending_whose_worker_died_is_taken_up_and_one_that_never_works_ends(database: Database) -> None:
    clock = Clock()
    context = ReadContext(database, clock, settings())
    made = Reports(context).create(new(mail=("a@example.com",), every_days=30), actor="ann")
    clock.now = made.next_at
    died = DeliverReports(context)
    died._open()
    for attempt in range(1, MAX_ATTEMPTS + 1):
        done = DeliverReports(context).run()
        assert (done.waiting, done.failed) == ((1, 0) if attempt < MAX_ATTEMPTS else (0, 1))
        clock.now += RETRY * 2 ** (attempt - 1)
    [run] = Reports(context).runs(made.id, limit=10, cursor=None).items
    assert (run.state, run.attempts) == ("failed", MAX_ATTEMPTS)
    assert "mail server" in (run.error or "")
    assert DeliverReports(context).run().failed == 0


def test_what_was_missed_while_nothing_ran_is_sent_once(database: Database) -> None:
    clock = Clock()
    with mail_receiver() as mail:
        context = ReadContext(database, clock, settings(mail_port=mail.port))
        Reports(context).create(new(mail=("a@example.com",), cron="0 7 * * *", every_days=None), actor="ann")
        clock.now = NOW + timedelta(days=9)
        assert DeliverReports(context).run().sent == 1
        assert DeliverReports(context).run().sent == 0
        assert len(mail.letters) == 1


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"mail": ()}, "no recipient or webhook"),
        ({"mail": ("a@example.com",), "cron": "0 7 * * 1"}, "either `cron` or `every_days`"),
        ({"mail": ("a@example.com",), "every_days": None, "cron": "0 25 * * *"}, "hour"),
        ({"mail": ("a@example.com",), "every_days": None, "cron": "0 0 30 2 *"}, "day-of-month: .30. does not fit"),
        ({"mail": ("a@example.com",), "at": "7"}, "no time of day"),
        ({"mail": ("a b@example.com",)}, "invalid email address"),
        ({"mail": ("a@example.com",), "name": "x\nBcc: y"}, "one line"),
        ({"mail": ("a@example.com",), "sections": ()}, "sections"),
    ],
)
def test_what_cannot_be_sent_is_refused_with_the_cause(database: Database, changes: dict[str, Any], said: str) -> None:
    reports = Reports(ReadContext(database, lambda: NOW, Settings()))
    with pytest.raises(Unprocessable, match=said):
        reports.create(new(**changes), actor="ann")
    assert reports.list() == ()


def test_webhooks_to_internal_addresses_are_refused_unless_listed(database: Database) -> None:
    reports = Reports(ReadContext(database, lambda: NOW, Settings()))
    for url in ("http://127.0.0.1:8480/x", "http://169.254.169.254/latest", "http://[::1]/"):
        with pytest.raises(OutgoingRefused):
            reports.create(new(webhook=url), actor="ann")
    made = Reports(ReadContext(database, lambda: NOW, settings(allow=("127.0.0.1:8480",)))).create(
        new(webhook="http://127.0.0.1:8480/x"), actor="ann"
    )
    reports.delete(made.id, actor="ann")
    assert reports.list() == ()
    with pytest.raises(NotFound):
        reports.delete(made.id, actor="ann")
    with pytest.raises(NotFound):
        reports.runs(made.id, limit=10, cursor=None)
