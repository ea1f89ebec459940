"""Pages of a fleet that Prometheus alone reports: no two tell one thing differently, and totals are sums of hosts."""

import json
import urllib.request
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from cli.commands import Tierscope, fresh_tierscope
from e2e.all_pages import pages_of
from e2e.conftest import fetch, log_in
from e2e.page_visits import Visits, look_at, watched_context
from e2e.test_headlines import newest_hour
from e2e.test_parts_add_up import ROUNDED, Reader
from e2e.told import contradictions
from factories.remote_writes import HEADERS, Series, named, write_body
from factories.waiting import DEADLINE_SECONDS, until
from fixtures.elsewhere import long
from tierscope.core.clock import utc_now

pytestmark = long
MINUTES = 150
NAMES = ("db1", "db2", "web1")
LEAST_SHARED = 3


def scrapes(host: int) -> list[Series]:
    """What node_exporter of a host says each minute; each host has more memory and moves than the one before."""
    now = int(utc_now().timestamp()) // 60 * 60_000
    minutes, instance = range(MINUTES), f"{NAMES[host]}:9100"
    grows = {
        "node_vmstat_pgpromote_success": 6000 * (host + 1),
        "node_vmstat_pgdemote_kswapd": 9000 * (host + 1),
        "node_pressure_memory_waiting_seconds_total": 0.3 * (host + 1),
        "node_vmstat_pgfault": 60_000,
    }
    stays = {
        "node_memory_MemTotal_bytes": (host + 1) << 37,
        "node_memory_MemAvailable_bytes": (host + 1) << 36,
        "node_memory_MemFree_bytes": (host + 1) << 35,
        "node_boot_time_seconds": 1_700_000_000,
    }
    times = [now - (MINUTES - minute) * 60_000 for minute in minutes]
    series = [
        (named(metric, instance), list(zip(times, (float(step * i) for i in minutes), strict=True)))
        for metric, step in grows.items()
    ]
    series += [(named(metric, instance), [(at, float(value)) for at in times]) for metric, value in stays.items()]
    release = named("node_uname_info", instance, nodename=NAMES[host], release="6.12.0", sysname="Linux")
    return [*series, (release, [(at, 1.0) for at in times])]


@pytest.fixture(scope="module")
def sampled() -> Iterator[Tierscope]:
    """An instance without an agent, which a Prometheus has sent hours of three hosts to."""
    with fresh_tierscope() as tierscope:
        tierscope.run("up", "--detach", "--no-agent", "--port", "0")
        url = tierscope.status()["url"]
        words = ("token", "api", "--role", "operator", "--scope", "write:samples", "--note", "prometheus", "--json")
        secret = json.loads(tierscope.run(*words))["token"]
        for host in range(len(NAMES)):
            headers = {**HEADERS, "Authorization": f"Bearer {secret}"}
            request = urllib.request.Request(f"{url}/api/v1/write", write_body(*scrapes(host)), headers)  # noqa: S310 - an address of our own service
            urllib.request.urlopen(request, timeout=DEADLINE_SECONDS).close()  # noqa: S310

        def worked_up() -> bool:
            hosts = fetch(f"{url}/v1/hosts?limit=10")["items"]
            rates = [host["promotion_pages_per_s"]["value"] for host in hosts]
            return len(rates) == len(NAMES) and None not in rates and fetch(f"{url}/v1/status")["marks_pending"] == 0

        until(worked_up, "what Prometheus sent is worked up")
        yield tierscope


def test_pages_of_hosts_that_prometheus_reports_agree_and_add_up(browser: Browser, sampled: Tierscope) -> None:
    url, found = sampled.status()["url"], Visits()
    host = fetch(f"{url}/v1/hosts?limit=10")["items"][0]["id"]
    start, end = newest_hour(url)
    with watched_context(browser) as context:
        page = context.new_page()
        log_in(page, sampled, "admin", demo=False)
        look_at(page, url, pages_of(host, None, f"from={start}&to={end}"), found)
        page.emulate_media(color_scheme="light")
        reader = Reader(page, url)
        reader.open("/hosts")
        columns = {name: sum(reader.column(name)) for name in ("Memory", "Promoted pages/s", "Demoted pages/s")}
        reader.open("/")
        totals = {name: reader.stat(name.split()[0]) for name in columns}
    assert (found.unsettled, found.refused, found.logged, found.unreadable, found.misread) == ([], [], [], [], [])
    assert contradictions(found.told, found.told_again) == []
    assert len([said for said in found.told.shared() if said[0] == "label"]) >= LEAST_SHARED
    assert totals == pytest.approx(columns, rel=ROUNDED)
    assert columns["Memory"] == pytest.approx(6 << 37, rel=ROUNDED)
    assert columns["Promoted pages/s"] == pytest.approx(600, rel=ROUNDED)
