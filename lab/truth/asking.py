"""What a user would ask of a fleet, over the HTTP API, kept as it was answered."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Literal

import httpx

from factories.waiting import DEADLINE_SECONDS
from truth.accounts import DRAM_RATIOS, scenario
from truth.experiments import Entered

WINDOW_S = 600
"""Of one state: ten minutes."""
HOUR_S = 3600
DAY_S = 86400
"""Of longer windows the last day is asked for by ten minutes and by the hour."""
MAX_HOSTS = 100
"""Of a fleet: so many a backtest lists."""
LOSS_TARGETS = (0.01, 0.02, 0.05)
BACKTESTED = {
    "ping-pong-futile": ("futile_ping_pong",),
    "hot-pages-stalled": ("stalled",),
    "promotion-failing": ("promotion_failing", "limiter_bound"),
    "swap-pressure": ("swap_pressure",),
}
"""Shipped rules of a host, and the twin's states that each is about (docs/alerts.md)."""
SILENT = {"agent-silent": "silent_agent"}
"""Shipped rules that are about an incident of the laws."""
CALLING = ("futile_ping_pong", "limiter_bound", "promotion_failing", "spill", "stalled", "swap_pressure")
"""States that call for somebody, as an alert of any other rule says that somebody is needed."""

Answers = dict[str, Any]
Asked = Literal["all", "sizes", "heat", "alerts"]
"""Everything; heat, re-access, curves, ratios, savings and settings without states over time and alerts; heat alone;
alerts alone."""


def _moment(unix_s: float) -> str:
    return datetime.fromtimestamp(unix_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _window(start_s: float, end_s: float) -> dict[str, str]:
    return {"from": _moment(start_s), "to": _moment(end_s)}


class Asker:
    """Asks one instance about one window of whole hours."""

    def __init__(self, client: httpx.Client, start_s: int, end_s: int) -> None:
        self._client = client
        self._start_s, self._end_s = start_s, end_s
        self._services = self._ids("/v1/services")
        self._hosts = self._ids("/v1/hosts")

    def _get(self, path: str, **params: str | float) -> Any:  # noqa: ANN401 - JSON
        return _taken(self._client.get(path, params=params))

    def _ids(self, path: str) -> Mapping[str, str]:
        return {item["name"]: item["id"] for item in self._get(path, limit=200)["items"]}

    def ask(self, services: Mapping[str, list[str]], memory_gb: Mapping[str, float], asked: Asked = "all") -> Answers:
        """Everything that is judged.

        Args:
            services: names of services, each with those of its hosts.
            memory_gb: memory of a host of each service, all nodes together.
            asked: how much.
        """
        whole = _window(self._start_s, self._end_s)
        answers: Answers = {"start_s": self._start_s, "end_s": self._end_s, "heat": [], "services": {}, "hosts": {}}
        if asked == "alerts":
            return {**answers, "alerts": self._backtests()}
        for service, hosts in services.items():
            path = f"/v1/services/{self._services[service]}"
            for host in hosts:
                heat = self._get(f"{path}/heat", **whole, host=self._hosts[host], max_points=2)
                answers["heat"].append({"service": service, "host": host, **_without(heat, "axis", "series")})
            if asked != "heat":
                answers["services"][service] = {
                    **self._of_service(path, hosts, whole),
                    "savings": [self._saving(service, memory_gb[service], ratio) for ratio in DRAM_RATIOS],
                }
        if asked != "heat":
            for host in {host for hosts in services.values() for host in hosts}:
                answers["hosts"][host] = self._of_host(self._hosts[host], over_time=asked == "all")
        if asked == "all":
            answers["alerts"] = self._backtests()
        return answers

    def _of_service(self, path: str, hosts: list[str], whole: Mapping[str, str]) -> Answers:
        curves = {host: self._get(f"{path}/curve", **whole, host=self._hosts[host]) for host in hosts}
        return {
            "revisit": self._get(f"{path}/revisit", **whole),
            "curve": self._get(f"{path}/curve", **whole),
            "curve_by_host": curves,
            "ratio": {
                f"{target:g}": _without(self._get(f"{path}/ratio", **whole, loss_target=target), "sweep")
                for target in LOSS_TARGETS
            },
            "sensitivity": _without(self._get(f"{path}/sensitivity", **whole), "scatter"),
        }

    def _saving(self, service: str, memory_gb: float, dram_ratio: float) -> Answers:
        spec = scenario(self._services[service], memory_gb, dram_ratio)
        posted = self._client.post("/v1/tco/evaluate", params={"parts": "fast"}, json={"spec": spec})
        options = _taken(posted)["options"]
        told = {name: options[0][name] if options else None for name in ("loss", "saving")}
        return {"memory_gb": memory_gb, "dram_ratio": dram_ratio, **told}

    def _of_host(self, host_id: str, *, over_time: bool) -> Answers:
        def ping_pong(start_s: int, length_s: int) -> Answers:
            window = _window(start_s, start_s + length_s)
            ledger = self._get(f"/v1/hosts/{host_id}/ledger", **window, max_points=2)
            found = {name: ledger["ping_pong"][name] for name in ("verdict", "kind", "ratio")}
            services = {state["service"].rpartition("/")[2]: state["verdict"] for state in ledger["services"]}
            return {"end_s": start_s + length_s, **found, "services": services}

        def split(length_s: int) -> list[Answers]:
            first_s = max(self._start_s, self._end_s - DAY_S)
            return [ping_pong(start_s, length_s) for start_s in range(first_s, self._end_s, length_s)]

        advice = self._get(f"/v1/hosts/{host_id}/knob-advice")["advice"]
        pieces = [{name: piece[name] for name in ("rule", "changes", "effect_figure")} for piece in advice]
        states = {"states": split(WINDOW_S), "hours": split(HOUR_S)} if over_time else {"states": [], "hours": []}
        return {**states, "advice": pieces}

    def ask_experiment(self, entered: Entered) -> Answers:
        """What is said of an experiment, without its curves."""
        found = self._get(f"/v1/experiments/{entered.id}", max_points=2)
        metrics = [_without(metric, "series") for metric in found["metrics"]]
        return {"what": entered.what, "verdict": found["verdict"], "why": found["why"], "metrics": metrics}

    def _backtests(self) -> Answers:
        return {rule["name"]: self._backtest(rule) for rule in self._get("/v1/rules")["items"]}

    def _backtest(self, rule: Answers) -> Answers:
        names = ("name", "expression", "for_seconds", "keep_firing_for_seconds", "severity", "no_data")
        recovery = ("no_data_after_seconds", "recovery_expression", "recovery_threshold", "n_of_m")
        wanted = {name: rule[name] for name in (*names, *recovery)}
        body = {"rule": {**wanted, "scope": {"kind": rule["scope"]["kind"]}}, **_window(self._start_s, self._end_s)}
        asked = {**body, "max_subjects": MAX_HOSTS, "max_points": 10}
        found = _taken(self._client.post("/v1/rules/backtest", json=asked))
        spans = {subject["name"]: subject["spans"] for subject in found["subjects"]}
        told = {"kind": rule["scope"]["kind"], "for_s": rule["for_seconds"], "keep_s": rule["keep_firing_for_seconds"]}
        return {**told, "coverage": found["coverage"], "spans": spans}


def _taken(answer: httpx.Response) -> Any:  # noqa: ANN401 - JSON
    assert answer.is_success, f"{answer.url}: {answer.status_code} {answer.text[:500]}"
    return answer.json()


def _without(document: Answers, *names: str) -> Answers:
    return {name: value for name, value in document.items() if name not in names}


def ask(
    url: str, truth: Mapping[str, Any], hours: int, entered: Sequence[Entered] = (), asked: Asked = "all"
) -> Answers:
    """Asks the instance at `url` about the first `hours` hours of a fleet, and about experiments on it."""
    services: dict[str, list[str]] = {}
    memory_gb: dict[str, float] = {}
    for host in truth["hosts"]:
        for service in host["services"]:
            services.setdefault(service, []).append(host["host"])
            memory_gb.setdefault(service, host["dram_gib"] + host["slow_gib"])
    start_s = int(truth["start_unix_s"])
    with httpx.Client(base_url=url, timeout=DEADLINE_SECONDS) as client:
        asker = Asker(client, start_s, start_s + hours * HOUR_S)
        answers = asker.ask(services, memory_gb, asked)
        return {**answers, "experiments": [asker.ask_experiment(one) for one in entered]}
