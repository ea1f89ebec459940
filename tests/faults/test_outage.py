"""An outage for our agent and for vmagent at the same time, in a short form: `make faults` has the long one."""

from __future__ import annotations

import pytest

from faults.matrix import SETTINGS
from faults.outage import run_case
from faults.programs import shipped_agent
from faults.stage import NotHereError, staged

OUTAGE_SECONDS = 8.0


@pytest.mark.slow
def test_an_outage_with_a_killed_agent_loses_nothing_that_was_queued_and_stores_nothing_twice() -> None:
    binary = shipped_agent()
    if binary is None:
        pytest.skip("no agent is compiled: make agent")
    try:
        with staged(binary, None, **SETTINGS) as stage:
            ours, theirs = run_case(stage, "answers lost, then cut", outage_seconds=OUTAGE_SECONDS, seed=1)
    except NotHereError as reason:
        pytest.skip(str(reason))
    assert ours.stored_twice == "0"
    assert ours.delivered_again > 0, "answers were lost, so that batches had to be sent again"
    # The scrape at whose moment the agent was killed, and the one that it began with, may be in no batch.
    assert ours.lost <= 2, (ours, theirs)
    assert theirs.stored > 0, "vmagent took part"
