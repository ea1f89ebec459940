"""Minutes from nothing to the first true sentence by source, and its figures; `--record` writes them to the how-to.

Each source is what a host has anyway, fed by the commands of its how-to to an instance of its own. Rows and columns of
programs that are not on this machine stay as they are. `PYTHONPATH=lab:tests TIERSCOPE_AGENT_BINARY=... python
lab/workshop/first_answer.py`.
"""

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack, suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx

from bench.figures import describe_run, record_between
from factories.loopback import free_port
from factories.prometheus import process
from factories.waiting import DEADLINE_SECONDS, until
from tierscope.core.clock import utc_now

DOCUMENT = Path("docs/howto/first-answer.md")
TIERSCOPE = str(Path(sys.executable).with_name("tierscope"))
WAIT_SECONDS = 600
REPORT = (
    *(f"proc/{name}" for name in ("vmstat", "meminfo", "zoneinfo", "uptime", "sys/kernel/osrelease")),
    "sys/devices/system/node/node*/*",
)
"""What a report of a host holds."""
Row = tuple[str, str, float, str]
"""Source, command, seconds, sentence."""
SADC = Path("/usr/lib/sysstat/sadc")
COLLECTOR = Path(".build/collector/otelcol").absolute()
HOW_TO = Path("docs/howto/opentelemetry.md")
PMNS = Path("/var/lib/pcp/pmns/root")
PCP_LOGGED = ("mem.vmstat", "mem.util", "mem.physmem", "mem.numa", "kernel.all.pressure", "kernel.uname.release")
"""What of PCP's own names the how-to asks a pmlogger for."""
HOSTS: dict[str, str] = {}
"""Hosts of real programs, by the source."""


class Instance:
    """An instance without an agent, in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.chmod(0o711)  # as root, the service runs as a user of its own
        self._environment = os.environ | {"TIERSCOPE_DATA_DIR": str(folder / "data")}
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        began = time.monotonic()
        self.run("up", "--detach", "--no-agent", "--port", str(port))
        self.seconds = time.monotonic() - began
        self._reader = self.token("--role", "viewer")

    def run(self, *words: str) -> str:
        words = (TIERSCOPE, *words)
        done = subprocess.run(words, env=self._environment, check=False, capture_output=True, text=True)
        if done.returncode not in (0, 3):
            raise SystemExit(f"{' '.join(words[1:])}: {done.stderr}")
        return done.stdout

    def token(self, *words: str) -> str:
        return self.run("token", "api", "--note", "first-answer", *words).split()[-1]

    def get(self, path: str) -> Any:  # noqa: ANN401 - JSON
        headers = {"Authorization": f"Bearer {self._reader}"}
        return httpx.get(self.url + path, headers=headers, timeout=60).raise_for_status().json()

    def wait_for(self, name: str, told: Callable[[dict[str, Any]], str | None]) -> str:
        """The first sentence about a host."""
        said: list[str] = []

        def is_said() -> bool:
            hosts = self.get("/v1/hosts?limit=100")["items"]
            said.extend(words for host in hosts if host["name"] == name and (words := told(host)) is not None)
            return bool(said)

        until(is_said, f"a sentence about {name}", seconds=WAIT_SECONDS)
        return said[0]


def now(host: dict[str, Any]) -> str | None:
    rate = host["promotion_pages_per_s"]
    if rate["status"] == "ok":
        return f"{rate['value']:g} pages/s promoted"
    return rate["reason"] if rate["status"] == "not_supported" or host["findings"] else None


def then(instance: Instance) -> Callable[[dict[str, Any]], str | None]:
    """What is said of the last two days of a host."""
    until = utc_now()
    window = f"from={until - timedelta(days=2):%Y-%m-%dT%H:%M:%SZ}&to={until:%Y-%m-%dT%H:%M:%SZ}"

    def tell(host: dict[str, Any]) -> str | None:
        churn = instance.get(f"/v1/hosts/{host['id']}/ping-pong?{window}")["churn_pages_per_s"]
        return f"at most {churn['value']:g} pages/s to and fro in two days" if churn["status"] == "ok" else None

    return tell


def sadf_json(target: Path) -> None:
    """Two days of sysstat 12.7, with three pages promoted and four demoted a second."""
    at = utc_now().replace(second=0, microsecond=0) - timedelta(days=2)
    rows = []
    for _ in range(287):
        at += timedelta(minutes=10)
        stamp = {"date": f"{at:%Y-%m-%d}", "time": f"{at:%H:%M:%S}", "tz": "UTC", "interval": 600}
        rows.append({"timestamp": stamp, "paging": {"fault": 500.0, "pgprom": 3.0, "pgdem": 4.0}})
    host = {"nodename": "sysstat1", "release": "6.12.9", "machine": "x86_64", "statistics": rows, "restarts": []}
    target.write_text(json.dumps({"sysstat": {"hosts": [host]}}))


def pmrep_csv(target: Path) -> None:
    """Two days of Performance Co-Pilot 7 by the minute."""
    at = utc_now().replace(second=0, microsecond=0) - timedelta(days=2)
    lines = ['Time,"mem.vmstat.pgpromote_success","mem.vmstat.pgdemote_kswapd"']
    for i in range(2879):
        at += timedelta(minutes=1)
        lines.append(f"{at.isoformat()},{180 * i},{240 * i}")
    target.write_text("\n".join(lines) + "\n")


def copy_report(target: Path) -> None:
    for file in (file for pattern in REPORT for file in Path("/").glob(pattern) if file.is_file()):
        with suppress(OSError):
            copy = target / file.relative_to("/")
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(file.read_bytes())


def measure(instance: Instance, telegraf: Path | None, figures: list[str]) -> list[Row]:
    """All sources that this machine has, and a table of their figures."""
    rows: list[Row] = [("nothing", "`tierscope up`", instance.seconds, "the instance answers")]
    folder = instance.folder

    def take(source: str, command: str, act: Callable[[], str]) -> None:
        began = time.monotonic()
        sentence = act()
        rows.append((source, command, time.monotonic() - began, sentence))
        print(*rows[-1], sep=" · ", flush=True)

    def assess(*words: str) -> str:
        (host,) = json.loads(instance.run("assess", "--json", *words))["hosts"]
        said: str = next((one["detail"] for one in host["checks"] if one["outcome"] == "fail"), host["tiering"])
        return said

    take("the host itself", "`tierscope assess`", assess)
    copy_report(folder / "report")
    take("a report: files of /proc and /sys", "`tierscope assess DIR`", lambda: assess(str(folder / "report")))
    sadf_json(folder / "sa.json")
    pmrep_csv(folder / "pcp.csv")

    def imported(program: str, host: str, *words: str) -> str:
        instance.run("import", program, *words)
        return instance.wait_for(host, then(instance))

    recorded, table = str(folder / "sa.json"), (str(folder / "pcp.csv"), "--host", "pcp1")
    take("two days of sysstat", "`tierscope import sysstat`", lambda: imported("sysstat", "sysstat1", recorded))
    take("two days of PCP", "`tierscope import pcp`", lambda: imported("pcp", "pcp1", *table))
    record_here(folder)
    if SADC.exists():
        HOSTS["sysstat"] = "sadc1"
        take(
            "sysstat, a minute",
            "`tierscope import sysstat`",
            lambda: first(instance, "sysstat", folder / "sa01", "sadc1"),
        )
    if shutil.which("collectl"):
        HOSTS["collectl -s+mM"] = "collectl1"
        words = ("collectl", folder / "collectl", "collectl1")
        take("collectl, a minute", "`tierscope import collectl`", lambda: first(instance, *words))
    if PMNS.exists():
        HOSTS["Performance Co-Pilot"] = "pmlogger1"
        words = ("pcp", folder / "pmlogger", "pmlogger1")
        take("PCP, a minute", "`tierscope import pcp`", lambda: first(instance, *words))
    measure_sent(instance, telegraf, take)
    figures.extend(tell_figures(instance))
    rows.append(measure_agent(instance))
    return rows


def measure_sent(
    instance: Instance, telegraf: Path | None, take: Callable[[str, str, Callable[[], str]], None]
) -> None:
    """Programs that send while they run."""
    folder = instance.folder
    with ExitStack() as running:
        token = instance.token("--role", "operator", "--scope", "write:samples")

        def start(words: list[str], name: str) -> str:
            running.enter_context(process(words, folder / f"{name}.log"))
            return instance.wait_for(name, now)

        if shutil.which("prometheus") and shutil.which("prometheus-node-exporter"):
            exporter, plain, own = free_port(), free_port(), free_port()
            HOSTS.update({"node_exporter with its flags": "prometheus1", "node_exporter by default": "prometheus2"})
            (folder / "prometheus.yml").write_text(
                "global: {scrape_interval: 15s}\nscrape_configs: [{job_name: node, static_configs: "
                f'[{{targets: ["localhost:{exporter}"], labels: {{instance: prometheus1}}}}, '
                f'{{targets: ["localhost:{plain}"], labels: {{instance: prometheus2}}}}]}}]\nremote_write: '
                f'[{{url: "{instance.url}/api/v1/write", authorization: {{credentials: {token}}}}}]\n'
            )
            fields = "--collector.vmstat.fields=^(oom_kill|pg|numa_|nr_|pswp|workingset_).*"
            words = ["prometheus-node-exporter", f"--web.listen-address=127.0.0.1:{exporter}", fields]
            running.enter_context(process([*words, "--collector.meminfo_numa"], folder / "exporter.log"))
            words = ["prometheus-node-exporter", f"--web.listen-address=127.0.0.1:{plain}"]
            running.enter_context(process(words, folder / "plain.log"))
            words = ["prometheus", f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/tsdb"]
            words.append(f"--web.listen-address=127.0.0.1:{own}")
            take("node_exporter, Prometheus", "`remote_write`", lambda: start(words, "prometheus1"))
        if telegraf is not None:
            (folder / "telegraf.conf").write_text(
                '[agent]\ninterval = "10s"\nhostname = "telegraf1"\n[[inputs.kernel_vmstat]]\n[[inputs.mem]]\n'
                f'[[outputs.http]]\nurl = "{instance.url}/api/v1/write"\ndata_format = "prometheusremotewrite"\n'
                '[outputs.http.headers]\nContent-Type = "application/x-protobuf"\nContent-Encoding = "snappy"\n'
                f'X-Prometheus-Remote-Write-Version = "0.1.0"\nAuthorization = "Bearer {token}"\n'
            )
            HOSTS["Telegraf"] = "telegraf1"
            words = [str(telegraf), str(folder / "telegraf.conf")]
            take("Telegraf", "`outputs.http`", lambda: start(words, "telegraf1"))
        if COLLECTOR.exists() and "node_exporter with its flags" in HOSTS:
            example = HOW_TO.read_text(encoding="utf-8").partition("```yaml\nreceivers:")[2].partition("```")[0]
            configuration = folder / "collector.yaml"
            configuration.write_text(f"receivers:{example}".replace("localhost:9100", f"localhost:{exporter}"))
            os.environ.update(TIERSCOPE_URL=instance.url, TIERSCOPE_TOKEN=token)
            HOSTS["OpenTelemetry collector of the how-to"] = platform.node().lower()
            words = [str(COLLECTOR), f"--config={configuration}"]
            take("OpenTelemetry collector", "`otlphttp`", lambda: start(words, platform.node().lower()))


def record_here(folder: Path) -> None:
    """What programs that record this machine write in a minute."""
    commands = []
    if SADC.exists():
        commands.append([str(SADC), "5", "13", str(folder / "sa01")])
    if shutil.which("collectl"):
        (folder / "collectl").mkdir()
        commands.append(["collectl", "-smM", "-i5", "-c", "13", "-f", f"{folder}/collectl/db"])
    with ExitStack() as running:
        if PMNS.exists():
            commands.append(start_pmcd(folder, running))
        for one in [subprocess.Popen(words, stdout=subprocess.DEVNULL) for words in commands]:
            one.wait(DEADLINE_SECONDS)


def start_pmcd(folder: Path, running: ExitStack) -> list[str]:
    """Starts a pmcd of its own; the command of a pmlogger that asks it for a minute."""
    (folder / "pmlogger").mkdir()
    (folder / "pmcd.conf").write_text("linux 60 dso linux_init /var/lib/pcp/pmdas/linux/pmda_linux.so\n")
    (folder / "pmlogger.conf").write_text(f"log mandatory on 5 seconds {{ {' '.join(PCP_LOGGED)} }}\n")
    port = str(free_port())
    words = ["/usr/lib/pcp/bin/pmcd", "-f", "-A", "-c", str(folder / "pmcd.conf"), "-p", port, "-U", "root"]
    running.enter_context(process([*words, "-s", f"{folder}/socket", "-l", f"{folder}/pmcd.log"], folder / "pmcd.out"))
    asked = ["pminfo", "-h", f"localhost:{port}"]
    until(lambda: subprocess.run(asked, capture_output=True, check=False).returncode == 0, "pmcd answers")
    written = [
        "-c",
        f"{folder}/pmlogger.conf",
        "-l",
        f"{folder}/pmlogger.log",
        "-T",
        "65sec",
        f"{folder}/pmlogger/20261128",
    ]
    return ["pmlogger", "-h", f"localhost:{port}", *written]


def first(instance: Instance, program: str, path: Path, host: str) -> str:
    """What is said of a history that is imported."""
    instance.run("import", program, str(path), "--host", host)
    said: list[str] = []

    def is_said() -> bool:
        with suppress(SystemExit):
            answer = json.loads(instance.run("assess", "--host", host, "--json"))
            said.extend([answer["explanation"]] if answer["days"] else [])
        return bool(said)

    until(is_said, f"a sentence about {host}", seconds=WAIT_SECONDS)
    return said[0]


def tell_figures(instance: Instance) -> list[str]:
    told = {source: json.loads(instance.run("assess", "--host", host, "--json")) for source, host in HOSTS.items()}
    labels = dict.fromkeys(one["label"] for answer in told.values() for one in answer["figures"])
    rows = [f"| Figure | {' | '.join(told)} |", "|---|" + "---|" * len(told)]
    for label in labels:
        states = (
            next((one["state"].replace("_", " ") for one in answer["figures"] if one["label"] == label), "-")
            for answer in told.values()
        )
        rows.append(f"| {label} | {' | '.join(states)} |")
    rows += [""]
    for source, answer in told.items():
        lacking = [one for one in answer["figures"] if one["state"] in ("not_collected", "not_supported")]
        for note in dict.fromkeys(one["note"] for one in lacking):
            rows.append(f"- {source}: {', '.join(one['label'] for one in lacking if one['note'] == note)}: {note}")
    return rows


def measure_agent(instance: Instance) -> Row:
    began = time.monotonic()
    instance.run("down")
    instance.run("up", "--detach", "--port", instance.url.rpartition(":")[2])
    sentence = instance.wait_for(platform.node().lower(), now)
    return "our agent", "`tierscope up`", time.monotonic() - began, sentence


def rows_of_before(measured: Iterable[str]) -> list[str]:
    """Rows of the document whose program is not on this machine."""
    table = DOCUMENT.read_text(encoding="utf-8").partition("<!-- first-answer: begin -->")[2].partition("Measured")[0]
    known = {"Source", "---", *measured}
    rows = [line for line in table.splitlines() if line.startswith("|")]
    return [line for line in rows if line.strip("|").split("|")[0].strip() not in known]


def beside_columns_of_before(figures: list[str], document: str) -> list[str]:
    """The table of figures with the columns, and the reasons below, of programs that are not on this machine."""
    before = document.partition("<!-- figures: begin -->")[2].partition("<!-- figures: end -->")[0].splitlines()
    kept = {cells[0]: cells for cells in map(cells_of, before) if cells}
    titles = cells_of(figures[0])
    others = [place for place, title in enumerate(kept.get("Figure", [])) if title not in titles]
    lines = []
    for line in figures:
        cells = cells_of(line)
        known = kept.get(cells[0], []) if cells else []
        lines.append(line + "".join(f" {known[place] if place < len(known) else '-'} |" for place in others if cells))
    names = [kept["Figure"][place] for place in others]
    return lines + [line for line in before if line.startswith(tuple(f"- {name}: " for name in names))]


def cells_of(line: str) -> list[str]:
    """The cells of a line of a table; none of another line."""
    return [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("|") else []


def main() -> None:
    """Measure, print and record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--telegraf", type=Path, help="a program that takes the path of its configuration alone")
    parser.add_argument("--record", action="store_true")
    options = parser.parse_args()
    figures: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        instance = Instance(Path(folder))
        try:
            rows = measure(instance, options.telegraf, figures)
        finally:
            with suppress(SystemExit):
                instance.run("down")
    lines = ["| Source | Command | Minutes | First sentence |", "|---|---|---|---|"]
    lines += [f"| {source} | {command} | {seconds / 60:.1f} | {said} |" for source, command, seconds, said in rows]
    lines += rows_of_before(source for source, *_ in rows)
    lines += ["", describe_run("lab/workshop/first_answer.py")]
    figures = beside_columns_of_before(figures, DOCUMENT.read_text(encoding="utf-8"))
    print("\n".join([*lines, *figures]))
    if options.record:
        record_between(DOCUMENT, "first-answer", "\n".join(lines))
        record_between(DOCUMENT, "figures", "\n".join(figures))


if __name__ == "__main__":
    main()
