"""An instance with this host's agent: data through the command, and what other users of the machine learn: nothing.

Data comes from the agent, from recordings made elsewhere, and from a simulated load.
"""

import json
import os
import pwd
import socket
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from cli.commands import Tierscope, call, fresh_tierscope
from e2e.all_pages import pages_of
from e2e.chromium import launch_chromium
from e2e.conftest import log_in
from e2e.page_visits import Visits, follow, look_at, watched_context
from e2e.told import contradictions
from factories.strangers import readable_by, stranger
from factories.waiting import DEADLINE_SECONDS, until
from tierscope.cli.base.source_tree import find_agent
from tierscope.cli.instance.fleet import FleetLog
from tierscope.core.embedded.places import find_places
from tierscope.core.embedded.process import list_children
from tierscope.usecases.operate.load_figures import judge

pytestmark = pytest.mark.running_clock
RECORDINGS = Path(__file__).resolve().parents[1] / "data"


AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root becomes another user")
WITH_AGENT = find_agent() is not None
AGENT = pytest.mark.skipif(not WITH_AGENT, reason="the agent's program is not built: run `make agent`")


@pytest.fixture(scope="module")
def running() -> Iterator[Tierscope]:
    """An instance with an agent, where there is one, started with an open umask."""
    with fresh_tierscope() as tierscope:
        former = os.umask(0)
        try:
            tierscope.run("up", "--detach", "--port", "0", *([] if WITH_AGENT else ["--no-agent"]))
        finally:
            os.umask(former)
        yield tierscope


def _get(tierscope: Tierscope, path: str) -> Any:  # noqa: ANN401 - JSON
    url = tierscope.status()["url"]
    with urllib.request.urlopen(f"{url}{path}", timeout=DEADLINE_SECONDS) as answer:  # noqa: S310 - an address of our own service
        return json.loads(answer.read())


def _hosts(tierscope: Tierscope) -> dict[str, Any]:
    return {host["name"]: host for host in _get(tierscope, "/v1/hosts?limit=200")["items"]}


def _owner(pid: int) -> str:
    lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    uids = next(line.split()[1:] for line in lines if line.startswith("Uid:"))
    assert len(set(uids)) == 1
    return pwd.getpwuid(int(uids[0])).pw_name


@AS_ROOT
def test_another_user_reads_nothing_of_a_running_instance(running: Tierscope) -> None:
    places = find_places(running.data_dir)
    if WITH_AGENT:
        layouts = places.agent_state / "layouts"
        until(lambda: layouts.is_dir() and any(layouts.iterdir()), "the agent keeps a layout")
    for root in (places.data, places.run):
        assert readable_by(stranger(), root) == []
    modes = {path.relative_to(places.data): path.lstat().st_mode for path in places.data.rglob("*")}
    assert [str(path) for path, mode in modes.items() if mode & 0o077] == []


@AS_ROOT
def test_no_log_holds_a_link(running: Tierscope) -> None:
    logs = {log.name: log.read_text(encoding="utf-8") for log in find_places(running.data_dir).logs.iterdir()}
    assert "tierscope token link" in logs["supervisor.log"]
    assert [name for name, text in logs.items() if "link=" in text or "tsl_" in text] == []


@AS_ROOT
def test_everything_but_supervisor_and_agent_runs_as_the_account(running: Tierscope) -> None:
    state = json.loads((running.data_dir / "state.json").read_text(encoding="utf-8"))
    assert _owner(state["supervisor"]["pid"]) == "root"
    for name in ("database", "queue", "api", "worker"):
        pid = state["components"][name]["process"]["pid"]
        assert {_owner(each) for each in (pid, *list_children(pid))} == {"tierscope"}, name


@AS_ROOT
def test_no_command_line_holds_a_secret(running: Tierscope) -> None:
    names = ("queue-password", "database-password")
    secrets = [(running.data_dir / name).read_bytes().strip() for name in names]
    state = json.loads((running.data_dir / "state.json").read_text(encoding="utf-8"))
    for part in state["components"].values():
        line = Path(f"/proc/{part['process']['pid']}/cmdline").read_bytes()
        assert not [secret for secret in secrets if secret in line]


@AGENT
def test_up_ends_with_this_host_measured(running: Tierscope) -> None:
    assert running.status()["components"]["agent"]["status"] == "healthy"
    host = _hosts(running)[socket.gethostname()]
    assert host["origin"] == "live"
    assert host["last_seen"] is not None


@AGENT
def test_every_page_of_one_measured_host_comes_to_rest_without_errors(running: Tierscope) -> None:
    found, name = Visits(), socket.gethostname()
    url, host = running.status()["url"], _hosts(running)[name]["id"]
    with launch_chromium() as browser, watched_context(browser) as context:
        page = context.new_page()
        log_in(page, running, "admin", demo=False)
        look_at(page, url, pages_of(host, service=None), found)
        assert found.logged == []
        follow(page, f"/hosts/{host}")
        expect(page.get_by_test_id("page-host")).to_contain_text(name)
        follow(page, "/hosts/h_unknown")
        expect(page.get_by_text("No host has the id h_unknown")).to_be_visible()
    assert (found.unsettled, found.refused, found.unreadable, found.misread) == ([], [], [], [])
    assert contradictions(found.told, found.told_again) == []


@AGENT
def test_only_this_installations_own_processes_are_offered_for_heat(running: Tierscope) -> None:
    lines = (running.data_dir / "heat-pids").read_text(encoding="utf-8").splitlines()
    services = {line.split()[2] for line in lines}
    assert services == {"tierscope/database", "tierscope/queue", "tierscope/api", "tierscope/worker"}
    components = running.status()["components"]
    named = {int(line.split()[0]) for line in lines}
    assert {components[name]["pid"] for name in ("database", "queue", "api", "worker")} <= named
    assert components["agent"]["pid"] not in named


@AGENT
def test_the_join_token_of_the_agent_is_private_and_used_up(running: Tierscope) -> None:
    token_file = running.data_dir / "agent" / "join-token"
    assert not token_file.exists() or token_file.stat().st_mode & 0o777 == 0o600
    tokens = json.loads(running.run("token", "list", "--json"))
    joins = [token for token in tokens if token["kind"] == "join" and token["note"] == "tierscope up"]
    assert [token["uses_left"] for token in joins] == [0]


@AGENT
def test_recordings_are_imported_as_a_host_of_their_own_and_again_as_the_same(running: Tierscope) -> None:
    recording = str(RECORDINGS / "kernel-lab" / "04-pingpong.tar.zst")
    for _ in range(2):
        running.run("import", "vmstat-dir", recording, "--host", "lab-pingpong")
    imported = [host for host in _get(running, "/v1/hosts?limit=200")["items"] if host["name"] == "lab-pingpong"]
    assert [host["origin"] for host in imported] == ["import"]


@AGENT
def test_a_field_kit_is_analysed_without_a_database_and_imported_as_a_host(running: Tierscope, tmp_path: Path) -> None:
    agent = find_agent()
    assert agent is not None
    kit = tmp_path / "kit.tar.zst"
    command = [str(agent), "fieldkit", "--seconds", "4", "--out", str(kit)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE_SECONDS, check=True)
    assert "5 snapshots" in done.stdout or "4 snapshots" in done.stdout
    analysed = json.loads(call("analyze", kit, "--json").stdout)
    assert analysed["schema"] == "tierscope.analyze-vmstat-dir/1"
    assert {row["key"] for row in analysed["ledger"]} >= {"promoted_pages", "demoted_pages"}
    for _ in range(2):
        running.run("import", "field-kit", str(kit), "--host", "kit-host")
    host = _hosts(running)["kit-host"]
    assert host["origin"] == "import"
    own = _hosts(running)[socket.gethostname()]
    assert host["kernel"] == own["kernel"]

    def has_counters() -> bool:
        answer = _get(running, f"/v1/hosts/{host['id']}/counters?name=pgfault&from=-1h")
        return answer["status"] == "ok" and any(series["values"] for series in answer["series"])

    # Workers may still be at what was sent.
    until(has_counters, "the kit's counters are told")


@AGENT
def test_what_served_the_loads_of_a_perf_recording_is_told(running: Tierscope, tmp_path: Path) -> None:
    local = "1a08001042 |OP LOAD|LVL RAM hit|SNP None|TLB L1 or L2 hit|LCK No|BLK  N/A"
    cxl = "1200000042 |OP LOAD|LVL CXL hit|SNP N/A|TLB N/A|LCK N/A|BLK  N/A"
    lines = [
        f"server 7/7 {second}.{part}: 200 cpu/mem-loads/P: 7f0000001000 {cxl if part == 9 else local}"
        for second in range(1, 61)
        for part in range(1, 10)
    ]
    script = tmp_path / "server.txt"
    script.write_text("\n".join(lines) + "\n", encoding="utf-8")
    running.run("import", "perf-script", str(script), "--service", "shop/db", "--host", "lab-perf")
    host = _hosts(running)["lab-perf"]

    def counts(name: str) -> list[float]:
        key = f"service:shop/db|served_loads|{name}".replace("|", "%7C")
        answer = _get(running, f"/v1/hosts/{host['id']}/counters?name={key}&from=-1h")
        return [value for series in answer["series"] for value in series["values"] if value is not None]

    until(lambda: bool(counts("loads_dram_local")), "what served loads is told")
    # Each second eight loads from DRAM, and one from CXL. The recording begins with its first whole interval.
    assert counts("loads_cxl")[-1] > 50
    assert counts("loads_dram_local")[-1] == pytest.approx(8 * counts("loads_cxl")[-1], rel=0.1)
    assert not any(counts("loads_pmem"))


@AGENT
def test_the_load_generator_refuses_an_instance_that_does_not_run(running: Tierscope) -> None:
    running.run("loadgen", "--hosts", "2", "--minutes", "1", expect=1)


@AGENT
def test_the_load_generator_reports_what_the_service_took(running: Tierscope) -> None:
    before = set(_hosts(running))
    load = ("loadgen", "--live", "--hosts", "3", "--minutes", "0", "--history-hours", "1", "--json")
    report = json.loads(running.run(*load))
    fleet = report["fleet"]
    assert (fleet["hosts"], fleet["batches"], fleet["errors"], fleet["duplicates"]) == (3, 3, 0, 0)
    assert (fleet["too_late_points"], fleet["set_aside_points"]) == (0, 0)
    assert fleet["inflated_bytes"] > fleet["sent_bytes"] > 0
    # Whether a load is held depends on the machine; what is said of it follows from the figures.
    verdict = judge(fleet, report["lag"], expected_minutes=0)
    assert report["verdict"] == {"held": verdict.held, "reasons": list(verdict.reasons)}
    assert "open_due_s" in report["lag"]
    # The agent of this host sends too, and may have no row of its ledger yet: the load does not wait for it.
    assert report["lag"]["settled_after_s"] is not None
    assert {"api", "worker", "database", "generator"} <= set(report["cpu_seconds"])
    assert report["stored_bytes_per_host_day"]["counters_live"] > 0
    made = [host for name, host in _hosts(running).items() if name not in before]
    assert [host["origin"] for host in made] == ["simulated"] * 3


@AGENT
@pytest.mark.parametrize(
    ("words", "cause"),
    [
        (["--minutes", "0"], "nothing to send"),
        (["--minutes", "1", "--join-token", "tsj_unknown"], "this join token is unknown"),
    ],
)
def test_the_load_generator_says_why_it_cannot_send(running: Tierscope, words: list[str], cause: str) -> None:
    command = running.command("loadgen", "--live", "--hosts", "2", *words)
    done = subprocess.run(
        command, env=running.env, capture_output=True, text=True, timeout=DEADLINE_SECONDS, check=False
    )
    assert done.returncode == 1
    assert cause in done.stderr


def test_the_fleets_progress_is_followed_from_where_it_stood(tmp_path: Path) -> None:
    path = tmp_path / "fleet.log"
    path.write_text("history of 24 hosts is complete, sending live\n", encoding="utf-8")
    log = FleetLog.at_end_of(path)
    assert log.new_lines() == []
    assert not log.loaded
    with path.open("a", encoding="utf-8") as file:
        file.write("history of 5 of 24 hosts sent\nhistory of 24 ho")
    assert log.new_lines() == ["history of 5 of 24 hosts sent"]
    with path.open("a", encoding="utf-8") as file:
        file.write("sts is complete, sending live\n")
    assert log.new_lines() == ["history of 24 hosts is complete, sending live"]
    assert log.loaded
