"""No figure of the demonstration is missing without a reason that is known here: it has data for every question."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from e2e.conftest import fetch

PAGES = ("/v1/fleet", "/v1/services?limit=100", "/v1/hosts?limit=100", "/v1/capacity")
SERVICE_PAGES = ("heat", "curve", "ledger", "ping-pong", "ratio", "revisit", "revisit/objectives", "sensitivity")
HOST_PAGES = ("", "/ledger", "/ping-pong", "/knob-advice")
Quantity = tuple[str, str]
"""Subject and definition."""
MISSING = ("not_collected", "not_enough_data")
ANSWERED_SERVICES_MIN = 8
"""Of ten: the others may be honest refusals."""
KNOWN: dict[str, str] = {
    "/v1/capacity .subjects[].": "hourly counters of 14 days are left out here, to be quick",
    "services/curve .log2_density_anon_file": "redis has no file memory",
    "services/heat .beside.dirty.": "the twin's agents watch single pages; smaps is read by another collector",
    "services/heat .beside.huge_pages.": "the twin has no huge pages",
    "services/heat .beside.written": "writes are tracked where a service opts in",
    "services/ping-pong .cost.slow_bandwidth_ratio": "hosts with one tier",
    "services/ping-pong .ratio": "hosts on which nothing moves",
    "services/ratio .evidence[].figure": "the kind of host that most hosts are of may have DRAM alone",
    "services/revisit/objectives .comparisons[].measured": "redis has no file memory",
    "services/revisit/objectives .slow_access_ratio": "the twin's agents have no hardware sampler",
    "services/sensitivity .heat_index.": "redis has no file memory",
    "services/sensitivity .kinds[].elasticity": "memory by kind hardly varies within hours",
    "hosts .agent": "there is no agent on a simulated host",
    "hosts .collectors[].cpu_ratio": "there is no agent on a simulated host",
    "hosts/ledger .ping_pong.ratio": "hosts on which nothing moves",
    "hosts/ping-pong .ratio": "hosts on which nothing moves",
    "hosts/ping-pong .cost.slow_bandwidth_ratio": "hosts with one tier",
}


def figures(answer: Any, path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:  # noqa: ANN401 - any answer
    """All figures of an answer with their paths; places in lists are left out."""
    if isinstance(answer, dict):
        if "status" in answer and "definition" in answer:
            yield path, answer
            return
        for name, part in answer.items():
            yield from figures(part, f"{path}.{name}")
    elif isinstance(answer, list):
        for part in answer:
            yield from figures(part, f"{path}[]")


@pytest.fixture(scope="module")
def answers(demo_url: str) -> dict[str, list[Any]]:
    """What stands behind all pages, by kind of page."""
    found = {page.partition("?")[0]: [fetch(f"{demo_url}{page}")] for page in PAGES}
    for page in SERVICE_PAGES:
        ids = [service["id"] for service in found["/v1/services"][0]["items"]]
        found[f"services/{page}"] = [fetch(f"{demo_url}/v1/services/{service}/{page}") for service in ids]
    for page in HOST_PAGES:
        ids = [host["id"] for host in found["/v1/hosts"][0]["items"]]
        found[f"hosts{page}"] = [fetch(f"{demo_url}/v1/hosts/{host}{page}") for host in ids]
    return found


def test_no_figure_is_missing_but_for_reasons_that_are_known(answers: dict[str, list[Any]]) -> None:
    missing = {
        f"{page} {path}: {figure['reason']}"
        for page, found in answers.items()
        for answer in found
        for path, figure in figures(answer)
        if figure["status"] in MISSING and not any(f"{page} {path}".startswith(known) for known in KNOWN)
    }
    assert not missing, "\n".join(sorted(missing))


def newest_hour(url: str) -> tuple[str, str]:
    """Begin and end of the newest whole hour: every page is asked about the same time."""
    newest = max(datetime.fromisoformat(host["last_seen"]) for host in fetch(f"{url}/v1/hosts?limit=100")["items"])
    end = newest.replace(minute=0, second=0, microsecond=0)
    start, end = (moment.astimezone(UTC) for moment in (end - timedelta(hours=1), end))
    return f"{start:%Y-%m-%dT%H:%M:%SZ}", f"{end:%Y-%m-%dT%H:%M:%SZ}"


def test_one_quantity_of_one_subject_and_window_has_one_value_on_all_pages(demo_url: str) -> None:
    start, end = newest_hour(demo_url)
    window = f"from={start}&to={end}"
    pages = [f"/v1/{noun}?limit=100&{window}" for noun in ("services", "hosts")] + [f"/v1/fleet?{window}"]
    for noun, parts in (("services", ("", *(f"/{page}" for page in SERVICE_PAGES))), ("hosts", HOST_PAGES)):
        ids = [item["id"] for item in fetch(f"{demo_url}/v1/{noun}?limit=100")["items"]]
        pages += [f"/v1/{noun}/{subject}{part}?{window}" for subject in ids for part in parts]
    found: dict[Quantity, dict[str, set[float]]] = defaultdict(lambda: defaultdict(set))
    for page in pages:
        path = page.split("?")[0]
        for subject, figure in quantities(fetch(demo_url + page), "/".join(path.split("/")[:4])):
            # What a page tells of another time, such as now, may have changed between two questions.
            if figure["window"] == {"start": start, "end": end}:
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


def test_most_services_have_a_ratio_or_a_range(answers: dict[str, list[Any]]) -> None:
    given = [answer["answer"] for answer in answers["services/ratio"]]
    assert len(given) == 10
    assert sum(answer != "refused" for answer in given) >= ANSWERED_SERVICES_MIN, given


def test_costs_stand_on_a_price_with_its_date(demo_url: str) -> None:
    (dram,) = (p for p in fetch(f"{demo_url}/v1/prices")["items"] if p["item"] == "dram" and p["in_force"])
    assert dram["date"] < dram["confirmed_at"]


def test_heat_and_placement_of_every_service_are_known_within_bounds(answers: dict[str, list[Any]]) -> None:
    fleet = answers["/v1/fleet"][0]
    assert fleet["simulated"] is True
    for name in ("hot_ratio", "cold_ratio"):
        assert fleet[name]["interval"]["lo"] < fleet[name]["value"] < fleet[name]["interval"]["hi"]
