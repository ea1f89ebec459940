"""How an instance judges its parts."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tierscope.cli.instance import agent
from tierscope.cli.instance.agent import AgentFiles, Deliveries
from tierscope.core.clock import clock_set

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def _say(files: AgentFiles, at: datetime | None) -> None:
    files.status.write_text(json.dumps({"last_delivered_at": at and at.isoformat()}), encoding="utf-8")


def test_clocks_that_are_set_do_not_make_an_agent_late(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr(agent, "monotonic", lambda: now[0])
    files = AgentFiles(tmp_path)
    delivers = Deliveries(files)
    assert not delivers(), "there is no file"
    _say(files, None)
    assert not delivers()
    with clock_set(lambda: NOON):
        _say(files, NOON)
        assert delivers()
    for leap in (timedelta(days=-400), timedelta(days=400)):
        with clock_set(lambda leap=leap: NOON + leap):  # type: ignore[misc]
            assert delivers()
    now[0] += 3 * agent.INTERVAL_SECONDS
    assert not delivers(), "nothing came for three intervals"
    _say(files, NOON - timedelta(days=400))
    assert delivers()


def test_what_an_earlier_agent_left_does_not_count(tmp_path: Path) -> None:
    files = AgentFiles(tmp_path)
    _say(files, NOON - timedelta(days=1))
    with clock_set(lambda: NOON):
        assert not Deliveries(files)()
