"""A fault of each kind, and an outage beside vmagent, in a short form; `make faults` is the long one, with all faults.

All tests share one running service: what a row needs beyond it, it starts itself. A failure names its seed, which is
the same in every run; `FAULTS_SEED` sets another.
"""

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from faults.matrix import ON_ONE_SERVER, SETTINGS, compare_with_undisturbed
from faults.oracle import judge
from faults.outage import ANSWERS_LOST_AND_KILLED, run_case
from faults.programs import dynamic_agent, shipped_agent
from faults.scene import Outcome, Row, play
from faults.stage import NotHereError, Stage, staged
from fixtures.elsewhere import long, one_of_each_kind

SEED = int(os.environ.get("FAULTS_SEED", "1"))
OUTAGE_SECONDS = 6.0
KEPT = frozenset(
    {"agent-killed", "database-killed", "answers-lost", "database-disk-full", "spool-corrupt", "agent-clock"}
)
"""Processes (API and workers are killed in test_worker_kills), the network, disks, the queue on disk, clocks."""
pytestmark = [long, pytest.mark.slow]


@pytest.fixture(scope="module")
def stage() -> Iterator[Stage]:
    binary = shipped_agent()
    if binary is None:
        pytest.skip("no agent is compiled: make agent")
    try:
        with staged(binary, dynamic_agent(), SETTINGS) as running:
            yield running
    except NotHereError as reason:
        pytest.skip(str(reason))


@dataclass(slots=True)
class Played:
    """The rows on the one service: each is played once, by whoever asks for it first."""

    stage: Stage
    _results: dict[str, Outcome | Exception] = field(default_factory=dict)

    def of(self, row: Row) -> Outcome:
        """What became of a row; raises what playing it raised."""
        if row.name not in self._results:
            try:
                self._results[row.name] = play(self.stage, row, SEED)
            except (NotHereError, AssertionError) as cause:
                self._results[row.name] = cause
        result = self._results[row.name]
        if isinstance(result, Exception):
            raise result
        return result


@pytest.fixture(scope="module")
def played(stage: Stage) -> Played:
    return Played(stage)


@pytest.mark.parametrize("row", one_of_each_kind(ON_ONE_SERVER, KEPT, "make faults"))
def test_what_was_acknowledged_is_stored_once(played: Played, row: Row) -> None:
    try:
        outcome = played.of(row)
    except NotHereError as reason:
        pytest.skip(str(reason))
    assert outcome.faults() == [], f"FAULTS_SEED={SEED}: {outcome.verdict} {outcome.notes}\n{played.stage.logs()}"


@pytest.mark.timeout(3600)  # where it comes first it plays the rows
def test_ledger_and_rollups_equal_those_of_an_undisturbed_run(played: Played, pytestconfig: pytest.Config) -> None:
    outcomes = []
    for row in (row for row in ON_ONE_SERVER if row.name in KEPT or pytestconfig.getoption("--elsewhere")):
        # A row that failed has its own test to say so.
        with contextlib.suppress(NotHereError, AssertionError):
            outcomes.append(played.of(row))
    assert outcomes, "no row ran"
    assert compare_with_undisturbed(played.stage, outcomes) == [], f"FAULTS_SEED={SEED}"


def test_an_outage_with_a_killed_agent_loses_nothing_that_was_queued_and_stores_nothing_twice(stage: Stage) -> None:
    try:
        ours, theirs = run_case(
            stage, ANSWERS_LOST_AND_KILLED, outage_seconds=OUTAGE_SECONDS, seed=SEED, quiet_seconds=1.0
        )
    except NotHereError as reason:
        pytest.skip(str(reason))
    assert ours.stored_twice == "0"
    assert ours.delivered_again > 0, "answers were lost, so that batches had to be sent again"
    # The scrape at whose moment the agent was killed, and the one that it began with, may be in no batch.
    assert ours.lost <= 2, (ours, theirs)
    assert theirs.stored > 0, "vmagent took part"


def test_the_judge_notices_what_is_lost_and_what_is_stored_twice(stage: Stage) -> None:
    (row,) = (row for row in ON_ONE_SERVER if row.name == "answers-lost")
    hosts = set(play(stage, row, SEED + 1).hosts)
    of_hosts = "WHERE host_id IN (SELECT id FROM hosts WHERE public_id = ANY(%s))"
    clean = judge(stage.proxy.tap, stage.cluster.url(), hosts)
    assert (clean.lost, clean.stored_twice) == (0, 0)
    with stage.database.write() as transaction:
        again = f"INSERT INTO counters_live SELECT * FROM counters_live {of_hosts} LIMIT 1"
        transaction.driver.execute(again.encode(), (list(hosts),))
    assert judge(stage.proxy.tap, stage.cluster.url(), hosts).stored_twice == 1
    with stage.database.write() as transaction:
        transaction.driver.execute(f"DELETE FROM counters_live {of_hosts}".encode(), (list(hosts),))
    assert judge(stage.proxy.tap, stage.cluster.url(), hosts).lost > 0
