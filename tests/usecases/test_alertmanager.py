"""A real Alertmanager receives alerts, keeps them while they fire, and resolves them when they end."""

import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx
import pytest

from factories.alert_changes import SetClock
from factories.loopback import LOOPBACK, free_port
from factories.notifying import Notifying, receiver, route
from factories.receivers import WebReceiver, web_receiver
from factories.waiting import DEADLINE_SECONDS, until
from factories.watched import Watched, recording
from fixtures.shifted_clock import need_machine_clock
from tierscope.core.clock import utc_now
from tierscope.core.database import Database

pytestmark = [pytest.mark.parametrize("storage_mode", ["native"], indirect=True), pytest.mark.running_clock]


class Alertmanager:
    def __init__(self, program: str, folder: Path, hook: str) -> None:
        self.url = f"http://{LOOPBACK}:{free_port()}"
        config = folder / "alertmanager.yml"
        config.write_text(
            "route: {receiver: hook, group_by: [alertname], group_wait: 0s, group_interval: 1s}\n"
            f"receivers: [{{name: hook, webhook_configs: [{{url: '{hook}'}}]}}]\n",
            encoding="utf-8",
        )
        address = self.url.removeprefix("http://")
        command = [program, f"--config.file={config}", f"--storage.path={folder / 'data'}"]
        self.log = folder / "log"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [*command, f"--web.listen-address={address}", "--cluster.listen-address="], stdout=log, stderr=log
            )
        self.until(self.is_ready)

    def is_ready(self) -> bool:
        assert self.process.poll() is None, self.log.read_text(encoding="utf-8")
        try:
            return httpx.get(f"{self.url}/-/ready", timeout=DEADLINE_SECONDS).status_code == 200
        except httpx.TransportError:
            return False

    def alerts(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = httpx.get(f"{self.url}/api/v2/alerts", timeout=DEADLINE_SECONDS).json()
        return found

    def until(self, condition: Callable[[], object]) -> None:
        """Waits until something is so that it brings about."""
        until(condition, "what the Alertmanager brings about", log=self.log, alive={"the Alertmanager": self.process})

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait()


@pytest.fixture
def manager(tmp_path: Path, web: WebReceiver) -> Iterator[Alertmanager]:
    program = shutil.which("prometheus-alertmanager")
    if program is None:
        pytest.skip("prometheus-alertmanager (Debian package) is not installed")
    need_machine_clock("Alertmanager")
    running = Alertmanager(program, tmp_path, web.url)
    yield running
    running.stop()


@pytest.fixture
def notifying(database_url: str) -> Iterator[Notifying]:
    """Alertmanager judges times by its own clock, so that this one begins at the real time."""
    with closing(Database(database_url)) as database:
        yield Notifying(database, clock=SetClock(utc_now()))


def told(web: WebReceiver) -> list[tuple[str, str]]:
    return [(alert["labels"]["service"], alert["status"]) for got in web.requests for alert in got.json()["alerts"]]


def test_an_alertmanager_receives_and_resolves_the_alert(
    notifying: Notifying, manager: Alertmanager, web: WebReceiver
) -> None:
    notifying.put_routes([receiver("am", "alertmanager", url=manager.url)], [route("am")])
    notifying.change("a1", "firing", labels={"team": "data"}, severity="critical")
    assert notifying.run().sent == 1
    (held,) = manager.alerts()
    assert held["status"]["state"] in ("active", "unprocessed")
    assert held["labels"] == {
        "alertname": "Ping-pong",
        "severity": "critical",
        "service": "cache",
        "service_id": "id-cache",
        "origin": "live",
        "team": "data",
    }
    assert held["annotations"]["summary"] == "Pages of cache go back and forth"
    ends_at = datetime.fromisoformat(held["endsAt"])
    assert 239 <= (ends_at - notifying.clock.now).total_seconds() <= 241
    manager.until(lambda: told(web) == [("cache", "firing")])
    assert notifying.run(59).sent == 0
    assert notifying.run(1).sent == 1
    (kept,) = manager.alerts()
    assert 59 <= (datetime.fromisoformat(kept["endsAt"]) - ends_at).total_seconds() <= 61
    notifying.clock.now = utc_now()
    notifying.change("a1", "resolved")
    assert notifying.run(60).sent == 1
    assert manager.alerts() == []
    manager.until(lambda: told(web) == [("cache", "firing"), ("cache", "resolved")])
    assert [entry.reason for entry in notifying.log()] == ["firing", "resolved"], "keeping alive is no news"


def test_an_alertmanager_that_was_away_gets_what_fires(
    notifying: Notifying, manager: Alertmanager, web: WebReceiver
) -> None:
    away = f"http://{LOOPBACK}:{free_port()}"
    notifying.put_routes([receiver("am", "alertmanager", url=away)], [route("am")])
    notifying.change("a1", "firing")
    notifying.change("b1", "firing", service="web")
    assert notifying.run().failed == 1
    notifying.change("b1", "resolved", service="web")
    assert notifying.run(60).failed == 1
    assert len(notifying.log(status="waiting")) == 2, "what keeps alive is not piled up while it waits"
    notifying.put_routes([receiver("am", "alertmanager", url=manager.url)], [route("am")])
    assert notifying.run(60).sent == 2
    assert [alert["labels"]["service"] for alert in manager.alerts()] == ["cache"]
    manager.until(lambda: ("cache", "firing") in told(web))


def test_the_ping_pong_recording_is_told_to_a_webhook_and_an_alertmanager_once_each(
    notifying: Notifying, manager: Alertmanager, web: WebReceiver
) -> None:
    keys, rows = recording("04-pingpong")
    rows = [*rows, *[rows[-1]] * 45]
    watched = Watched(notifying.database, len(rows))
    matcher = ("alertname", "=", "ping-pong-critical")
    with web_receiver() as direct:
        hook = receiver("hook", "webhook", url=direct.url)
        notifying.put_routes(
            [hook, receiver("am", "alertmanager", url=manager.url)],
            [route("hook", matcher, **{"continue": True}), route("am", matcher)],
        )
        host = watched.enrol()
        watched.send(host, keys, rows[:2])
        watched.evaluate(3.5)
        watched.send(host, keys, rows[2:], first=2)
        for minute in range(10, 90, 10):
            watched.evaluate(minute)
            notifying.run()
        (held,) = manager.alerts()
        assert (held["labels"]["alertname"], held["labels"]["origin"]) == ("ping-pong-critical", "simulated")
        watched.evaluate(len(rows) + 4)
        for _ in range(3):
            notifying.run()
        assert [(got.json()["status"], len(got.json()["alerts"])) for got in direct.requests] == [
            ("firing", 1),
            ("resolved", 1),
        ]
    assert manager.alerts() == []
    manager.until(lambda: [got.json()["status"] for got in web.requests] == ["firing", "resolved"])
