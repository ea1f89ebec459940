"""No figure of the demonstration is missing without a reason that is known here: it has data for every question."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from e2e.conftest import fetch
from factories.figures import figures, routes_with_figures, unregistered
from fixtures.elsewhere import long

pytestmark = long
SUBJECTS = {"service_id": "services", "host_id": "hosts"}
"""What a route may be about, with the list that names all of them."""
OF_OTHER_THINGS = {
    "/v1/alerts/{alert_id}/incident": "of the time around an alert",
    "/v1/capacity/forecast": "lists have its figures",
    "/v1/experiments/{experiment_id}": "of the time of the experiment",
    "/v1/experiments/plan": "for an experiment that is planned",
    "/v1/hosts/{host_id}/fairness/limits": "of limits that are tried",
    "/v1/sweeps/{sweep_id}/results": "of runs of the simulator",
    "/v1/sweeps/{sweep_id}/runs/{run_id}": "of runs of the simulator",
    "/v1/tco/compare": "of scenarios",
}
"""Routes whose figures are not those of a service, a host or the fleet in the window that is asked about."""
WITHOUT_FIGURES = {"/v1/services/{service_id}/metrics": {"service_id"}}
"""Asked too: what a service tells of itself."""
Quantity = tuple[str, str]
"""Subject and definition."""
MISSING = ("not_collected", "not_enough_data")
SETTLED = timedelta(minutes=15)
"""After an hour has ended its last minutes still come from hosts, and a worker works them off."""
OF_A_KIND = 2
"""Hosts that are asked about of those that run the same: `make e2e` asks about all."""
ANSWERED_SERVICES_MIN = 8
"""Of ten: the others may be honest refusals."""
KNOWN: dict[str, str] = {
    "/v1/advice/plan .stake_bytes": "advice was first judged before heat came; within the first hour it is again soon",
    "/v1/data-quality .fleet.dropped": "there is no agent on a simulated host",
    "/v1/data-quality .hosts.items[].dropped": "there is no agent on a simulated host",
    "/v1/data-quality .hosts.items[].clock_skew_seconds": "history is sent without a clock",
    "/v1/fleet/drift .missing": "a worker compares hosts some minutes after each hour",
    "/v1/fleet/statistics .missing": "a worker sums up the fleet some minutes after each hour",
    "services/lookalikes .missing": "a worker makes features every six hours",
    "/v1/capacity .subjects[].": "hourly counters of 14 days are left out here, to be quick",
    "services/curve .log2_density_anon_file": "redis has no file memory",
    "services/heat .beside.dirty.": "the twin's agents watch single pages; smaps is read by another collector",
    "services/heat .beside.huge_pages.": "the twin has no huge pages",
    "services/heat .beside.written": "writes are tracked where a service opts in",
    "services/ledger .ping_pong.ratio": "services of whose memory nothing moves within the hour",
    "services/ping-pong .cost.slow_bandwidth_ratio": "hosts with one tier",
    "services/ping-pong .ratio": "hosts on which nothing moves",
    "services/ratio .evidence[].figure": "the kind of host that most hosts are of may have DRAM alone",
    "services/ratio .service_class.figures[].figure": "the twin's hosts have no counters at CXL devices",
    "services/revisit/objectives .comparisons[].measured": "redis has no file memory",
    "services/revisit/objectives .slow_access_ratio": "the twin's agents have no hardware sampler",
    "services/sensitivity .heat_index.": "redis has no file memory",
    "services/sensitivity .kinds[].elasticity": "memory by kind hardly varies within hours",
    "hosts .agent": "there is no agent on a simulated host",
    "hosts .collectors[].cpu_ratio": "there is no agent on a simulated host",
    "hosts/ledger .ping_pong.ratio": "hosts on which nothing moves",
    "hosts/fairness .held_bytes": "the agent of one host is silent",
    "hosts/fairness .tenants[].fair[].": "tenants of the twin are neither protected nor limited",
    "services/fairness .hosts[].tenant.fair[].": "tenants of the twin are neither protected nor limited",
    "hosts/ping-pong .ratio": "hosts on which nothing moves",
    "hosts/ping-pong .cost.slow_bandwidth_ratio": "hosts with one tier",
}


def newest_hour(url: str) -> tuple[str, str]:
    """Begin and end of the newest whole hour that nothing is added to: every page is asked about the same time."""
    newest = max(datetime.fromisoformat(host["last_seen"]) for host in fetch(f"{url}/v1/hosts?limit=100")["items"])
    end = (newest - SETTLED).replace(minute=0, second=0, microsecond=0)
    start, end = (moment.astimezone(UTC) for moment in (end - timedelta(hours=1), end))
    return f"{start:%Y-%m-%dT%H:%M:%SZ}", f"{end:%Y-%m-%dT%H:%M:%SZ}"


@dataclass(frozen=True, slots=True)
class Asked:
    """What stands behind all pages, asked once about one window."""

    window: dict[str, str]
    by_kind: dict[str, dict[str, Any]]
    """Answers by their path, by kind of page."""

    def of(self, kind: str) -> list[Any]:
        return list(self.by_kind[kind].values())


def some_of_each(items: list[dict[str, Any]], most: int) -> list[dict[str, Any]]:
    """The first things of each kind, which the name says before its last number."""
    seen: Counter[str] = Counter()
    kept = []
    for item in items:
        kind = str(item["name"]).rstrip("0123456789")
        seen[kind] += 1
        if seen[kind] <= most:
            kept.append(item)
    return kept


@pytest.fixture(scope="module")
def answers(demo_url: str, pytestconfig: pytest.Config) -> Asked:
    """The lists, and all services and some hosts of each kind one after the other."""
    most = len(fetch(f"{demo_url}/v1/hosts?limit=100")["items"]) if pytestconfig.getoption("--elsewhere") else OF_A_KIND
    start, end = newest_hour(demo_url)

    def ask(paths: Iterable[str]) -> dict[str, Any]:
        return {path: fetch(f"{demo_url}{path}?limit=100&from={start}&to={end}") for path in paths}

    routes = {path: needed for path, needed in routes_with_figures().items() if path not in OF_OTHER_THINGS}
    routes |= WITHOUT_FIGURES
    found = {path: ask([path]) for path, needed in routes.items() if not needed}
    for path, (subject,) in ((path, needed) for path, needed in routes.items() if needed):
        (listed,) = found[f"/v1/{SUBJECTS[subject]}"].values()
        name = path.removeprefix("/v1/").replace(f"/{{{subject}}}", "")
        found[name] = ask(path.replace(f"{{{subject}}}", item["id"]) for item in some_of_each(listed["items"], most))
    return Asked({"start": start, "end": end}, found)


def test_no_figure_is_missing_but_for_reasons_that_are_known(answers: Asked) -> None:
    missing = {
        f"{page} {path}: {figure['reason']}"
        for page, found in answers.by_kind.items()
        for answer in found.values()
        for path, figure in figures(answer)
        if figure["status"] in MISSING and not any(f"{page} {path}".startswith(known) for known in KNOWN)
    }
    assert not missing, "\n".join(sorted(missing))


def test_every_figure_is_a_quantity_of_the_register(answers: Asked) -> None:
    unknown = {
        f"{page} {said}"
        for page, found in answers.by_kind.items()
        for answer in found.values()
        for said in unregistered(answer)
    }
    assert not unknown, "\n".join(sorted(unknown))


def test_one_quantity_of_one_subject_and_window_has_one_value_on_all_pages(answers: Asked) -> None:
    pages = {path: answer for by_path in answers.by_kind.values() for path, answer in by_path.items()}
    found: dict[Quantity, dict[str, set[float]]] = defaultdict(lambda: defaultdict(set))
    for path, answer in pages.items():
        for subject, figure in quantities(answer, "/".join(path.split("/")[:4])):
            # What a page tells of another time, such as now, may have changed between two questions.
            if figure["window"] == answers.window:
                found[subject, figure["definition"]][path].add(round(figure["value"], 9))
    shared = {quantity: by_page for quantity, by_page in found.items() if len(by_page) > 1}
    assert len(shared) > len(pages) // 2, f"{len(shared)} quantities on more than one of {len(pages)} pages"
    # A page with several values tells them of parts, too; one of them is that of the whole.
    apart = {quantity: dict(by_page) for quantity, by_page in shared.items() if not set.intersection(*by_page.values())}
    assert not apart, "\n".join(f"{quantity}: {by_page}" for quantity, by_page in sorted(apart.items())[:20])


def quantities(answer: Any, subject: str) -> Iterator[tuple[str, dict[str, Any]]]:  # noqa: ANN401 - any answer
    """All known figures of an answer, each with what it is about: a service, a host, or a service on a host."""
    if isinstance(answer, dict):
        if "status" in answer and "definition" in answer:
            if answer["value"] is not None:
                yield subject, answer
            return
        for key, noun in (("service_id", "services"), ("host_id", "hosts")):
            if isinstance(answer.get(key), str):
                subject = inside(subject, f"/v1/{noun}/{answer[key]}")
        for part in answer.values():
            yield from quantities(part, subject)
    elif isinstance(answer, list):
        for part in answer:
            own = part.get("id") if isinstance(part, dict) else None
            listed = {"s": "services", "h": "hosts"}.get(str(own)[:1])
            yield from quantities(part, inside(subject, f"/v1/{listed}/{own}") if own and listed else subject)


def inside(whole: str, part: str) -> str:
    """A host of a service, or a service on a host, by both; else the part itself."""
    nouns = {whole.split("/")[2], part.split("/")[2]}
    is_listed = len(whole.split("/")) <= len(["", "v1", "hosts"])
    return part if is_listed or len(nouns) == 1 else " ".join(sorted((whole, part)))


def test_most_services_have_a_ratio_or_a_range(answers: Asked) -> None:
    given = [answer["answer"] for answer in answers.of("services/ratio")]
    assert len(given) == 10
    assert sum(answer != "refused" for answer in given) >= ANSWERED_SERVICES_MIN, given


def test_costs_stand_on_a_price_with_its_date(demo_url: str) -> None:
    (dram,) = (p for p in fetch(f"{demo_url}/v1/prices")["items"] if p["item"] == "dram" and p["in_force"])
    assert dram["date"] < dram["confirmed_at"]


def test_hosts_of_the_twin_say_what_is_hot_and_where_it_lies(answers: Asked) -> None:
    services = answers.of("/v1/services")[0]["items"]
    place = next(place for place, service in enumerate(services) if service["name"] == "ads")
    heat, metrics = (answers.of(f"services/{page}")[place] for page in ("heat", "metrics"))
    resident_bytes = services[place]["resident_bytes"]["value"]
    assert resident_bytes > 1 << 40
    for name in ("hot_outside_dram_bytes", "cold_in_dram_bytes"):
        assert 0 < heat[name]["value"] < resident_bytes
    assert metrics["status"] == "ok"


def test_heat_and_placement_of_every_service_are_known_within_bounds(answers: Asked) -> None:
    fleet = answers.of("/v1/fleet")[0]
    assert fleet["simulated"] is True
    for name in ("hot_ratio", "cold_ratio"):
        assert fleet[name]["interval"]["lo"] < fleet[name]["value"] < fleet[name]["interval"]["hi"]
