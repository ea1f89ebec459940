"""What tests and lab share: the servers' fixtures, and a closing list of what could not run here and why."""

import gc
import os
import sys
from collections import Counter
from collections.abc import Generator, Iterator

from fixtures.memory import data_parent
from fixtures.shifted_clock import standing_time

# One thread per test process: small problems of linear algebra wait for each other where threads outnumber cores.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# Folders of tests stand where their databases do: trees of thousands of small files take a disk ten times as long.
os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", data_parent())

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

from tierscope.core.clock import clock_set

pytest_plugins = [
    "fixtures.server_logs",
    "fixtures.failures",
    "fixtures.elsewhere",
    "fixtures.properties",
    "fixtures.leftovers",
    "fixtures.servers",
    "fixtures.histories",
    "fixtures.asked",
]

BROWSER = "tests/e2e/"
LONGEST_FIRST = (
    BROWSER,
    "lab/faults/test_matrix.py",
    "tests/cli/test_agent_data.py",
    "tests/cli/test_up.py",
    "tests/docs/test_commands.py",
    "tests/api/test_properties.py",
    "tests/nodes/test_moves.py",
    "lab/attack/",
    "lab/bench/test_memory.py",
    "tests/storage/test_revisions.py",
    "tests/worker/",
    "lab/truth/test_truth.py",
    "lab/faults/",
    "tests/cli/test_analyze.py",
    "tests/cli/test_backup.py",
    "tests/nodes/",
    "tests/api/",
    "tests/cli/",
    "tests/storage/",
    "lab/",
    "tests/usecases/",
    "tests/architecture/",
)
"""Where a run begins: what takes minutes must not be what one process does alone at the end. The rest takes seconds."""


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Look for no garbage among modules and tests, which stay to the end: it takes a third of the time to collect them.

    Afterwards it is looked for among what tests make. jsonschema finds no grammar of addresses, which it would take
    seconds to compile and no test asks for.
    """
    sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(10_000, 20, 20)  # seldom: answers and rows are made by the thousand, and few hold each other
        gc.enable()


class OneDemo(LoadScopeScheduling):
    """Modules go to processes as a whole, and all browser tests to one, because they share a slow demonstration."""

    def _split_scope(self, nodeid: str) -> str:
        return BROWSER if nodeid.startswith(BROWSER) else super()._split_scope(nodeid)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadScopeScheduling | None:
    """Spread tests over processes by `OneDemo`, where they are spread by module, in the order of collection."""
    if config.getvalue("dist") != "loadscope":
        return None
    config.option.loadscopereorder = False  # by the number of tests, of which the slowest modules have few
    return OneDemo(config, log)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put what takes long first where several processes share the tests, unless their order is drawn."""
    if hasattr(config, "workerinput") and not config.pluginmanager.has_plugin("randomly"):
        items.sort(
            key=lambda item: next(
                (place for place, start in enumerate(LONGEST_FIRST) if item.nodeid.startswith(start)),
                len(LONGEST_FIRST),
            )
        )


OTHER_PROGRAMS_TELL_TIME = ("tests/e2e/", "lab/faults/", "tests/worker/")
"""Where the product runs in processes of its own, whose clocks go on."""


@pytest.fixture(scope="module", autouse=True)
def standing_clock(request: pytest.FixtureRequest) -> Iterator[None]:
    """Let the product's clock and the tests' stand still in a module: no hour ends between data and question.

    Modules elsewhere that compare with the clock of another program are marked `running_clock`.
    """
    goes_on = request.node.nodeid.startswith(OTHER_PROGRAMS_TELL_TIME)
    if goes_on or request.node.get_closest_marker("running_clock") is not None:
        yield
        return
    now = standing_time(request.node.nodeid)
    with clock_set(lambda: now):
        yield


class NameFailures:
    """Names a test that fails when it fails: the list at the end of a run is lost where the run is cut off."""

    def __init__(self, reporter: pytest.TerminalReporter) -> None:
        self._reporter = reporter

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """One line, with the last line of the cause."""
        if report.failed:
            cause = report.longreprtext.strip().splitlines() or [""]
            self._reporter.ensure_newline()
            self._reporter.write_line(f"failed in {report.when}: {report.nodeid}: {cause[-1][:200]}")


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Name failures at once, in the process that reports."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None and not hasattr(config, "workerinput"):
        config.pluginmanager.register(NameFailures(reporter), "name-failures")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """End the run with one line for each reason that kept tests from running, so that no skip goes unseen."""
    reasons: Counter[str] = Counter()
    for report in terminalreporter.stats.get("skipped", []):
        if isinstance(report.longrepr, tuple):
            reasons[str(report.longrepr[2]).removeprefix("Skipped: ")] += 1
    if reasons:
        terminalreporter.section("not run here")
    for reason, count in sorted(reasons.items()):
        terminalreporter.write_line(f"not run here: {count}, because {reason}")
