"""Records answers of a populated installation for specs of the dashboard; `make record-answers` runs it.

Times are shifted to the moment of all other answers; the service's id becomes `{id}`, those of hosts `h-1` and so on.
"""

import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from architecture.tree import ROOT
from factories.populated import populated_service
from fixtures.servers import Template
from tierscope.core.clock import utc_now

ANSWERS = ROOT / "frontend" / "src" / "mock-api" / "answers"
MADE_AT = datetime(2026, 11, 21, 3, tzinfo=UTC)
"""`mockNow` of the specs."""
RECORDED = (
    "rules/vocabulary",
    "metrics",
    *(f"services/_/{name}" for name in ("curve", "metrics", "sensitivity", "swap-tier")),
)
KEPT = frozenset({"pgpromote_success", "MemFree", "free_dram_ratio", "vmstat.pswpin", "rate"})
"""What stays of catalogues that are longer than this many entries."""
LONG = 20
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z")


def shift(value: Any, by: timedelta) -> Any:  # noqa: ANN401 - any part of an answer
    """An answer as it would have been made `by` later; entries of long catalogues are left out."""
    if isinstance(value, dict):
        return {
            key: [round(at + by.total_seconds()) for at in part] if key == "times" else shift(part, by)
            for key, part in value.items()
        }
    if isinstance(value, list):
        named = len(value) > LONG and all(isinstance(item, dict) and "name" in item for item in value)
        return [shift(item, by) for item in value if not named or item["name"] in KEPT]
    if isinstance(value, str):
        return _TIME.sub(lambda time: f"{datetime.fromisoformat(time[0]) + by:%Y-%m-%dT%H:%M:%SZ}", value)
    return value


@pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
def test_answers_are_recorded(template: Template, storage_mode: str) -> None:
    with populated_service(template, storage_mode) as (client, _, made):
        (service,) = made.ids["service_id"]
        by = MADE_AT - utc_now()
        for file in RECORDED:
            answer = client.get(f"/v1/{file.replace('_', service)}")
            assert answer.status_code == 200, f"{file}: {answer.text}"
            text = answer.text.replace(service, "{id}")
            for number, host in enumerate(made.ids["host_id"], 1):
                text = text.replace(host, f"h-{number}")
            write(ANSWERS / f"{file}.json", shift(json.loads(text), by))


def write(path: Path, answer: object) -> None:
    """Stores an answer; `make fmt` puts it into the form of the others."""
    path.write_text(json.dumps(answer, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
