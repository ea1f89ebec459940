"""Every fault once, and an outage beside vmagent, in a short form; `make faults` is the long one.

All tests share one running service: what a row needs beyond it, it starts itself. A failure names its seed.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

import pytest

from faults.matrix import ROWS, SETTINGS, compare_with_undisturbed
from faults.oracle import judge
from faults.outage import ANSWERS_LOST_AND_KILLED, run_case
from faults.programs import dynamic_agent, shipped_agent
from faults.scene import Outcome, Row, play
from faults.stage import NotHereError, Stage, staged

SEED = int(os.environ.get("FAULTS_SEED", time.time_ns() // 10**9))
OUTAGE_SECONDS = 6.0
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def stage() -> Iterator[Stage]:
    binary = shipped_agent()
    if binary is None:
        pytest.skip("no agent is compiled: make agent")
    try:
        with staged(binary, dynamic_agent(), **SETTINGS) as running:
            yield running
    except NotHereError as reason:
        pytest.skip(str(reason))


@pytest.fixture(scope="module")
def outcomes() -> list[Outcome]:
    """What the rows of this module found, for the comparison at the end."""
    return []


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_what_was_acknowledged_is_stored_once(stage: Stage, outcomes: list[Outcome], row: Row) -> None:
    try:
        outcome = play(stage, row, SEED)
    except NotHereError as reason:
        pytest.skip(str(reason))
    outcomes.append(outcome)
    assert outcome.faults() == [], f"FAULTS_SEED={SEED}: {outcome.verdict} {outcome.notes}\n{stage.logs()}"


def test_ledger_and_rollups_equal_those_of_an_undisturbed_run(stage: Stage, outcomes: list[Outcome]) -> None:
    assert outcomes, "no row ran"
    assert compare_with_undisturbed(stage, outcomes) == [], f"FAULTS_SEED={SEED}"


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


def test_the_judge_notices_what_is_lost_and_what_is_stored_twice(stage: Stage, outcomes: list[Outcome]) -> None:
    hosts = set(outcomes[0].hosts)
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
