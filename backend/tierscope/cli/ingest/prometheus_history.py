"""`tierscope import prometheus`: take over the history that a Prometheus holds."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tierscope.cli.base.exits import BAD_USAGE, fail, print_answer, say
from tierscope.cli.base.options import AsJson, Demo
from tierscope.core.clock import utc_now
from tierscope.core.settings import Settings

if TYPE_CHECKING:
    from tierscope.usecases.ingest.prometheus_history import Imported

TOKEN_VARIABLE = "PROMETHEUS_TOKEN"  # noqa: S105 - the name of a variable


def register(import_app: typer.Typer) -> None:
    """Add the command."""
    import_app.command("prometheus")(import_prometheus)


def import_prometheus(
    url: Annotated[str, typer.Option(help="Address of Prometheus, such as http://prometheus:9090.")],
    start: Annotated[str, typer.Option("--from", help="ISO time with zone, or a length such as 14d or 6h.")] = "14d",
    end: Annotated[str | None, typer.Option("--to", help="ISO time with zone; absent = now.")] = None,
    match: Annotated[
        list[str] | None, typer.Option(help="Which series, such as '{job=\"node\"}'; default what gives counters.")
    ] = None,
    label: Annotated[
        list[str] | None, typer.Option(help="A label to add, name=value; default the external labels of Prometheus.")
    ] = None,
    again: Annotated[bool, typer.Option("--again", help="Start over instead of where the last run ended.")] = False,
    demo: Demo = False,
    as_json: AsJson = False,
) -> None:
    """Take over the history of a Prometheus, hour by hour; a second run goes on where the first one ended.

    A bearer token for Prometheus is taken from the variable PROMETHEUS_TOKEN.
    """
    from tierscope.cli.base.database import open_database
    from tierscope.cli.base.instance import find_instance
    from tierscope.core.prometheus_api import PrometheusApi
    from tierscope.usecases.ingest.prometheus_history import PrometheusHistory
    from tierscope.usecases.ingest.remote_write import RemoteWrite

    settings = Settings()
    now = utc_now()
    start_ms = _moment(start, now)
    end_ms = _moment(end, now) if end else int(now.timestamp() * 1000)
    if end_ms <= start_ms:
        fail("--to lies before --from", next_step="swap them", status=BAD_USAGE)
    oldest = now - timedelta(days=settings.remote_write.late_days) + timedelta(minutes=5)
    if start_ms < oldest.timestamp() * 1000:
        say(f"Samples are kept from {oldest:%Y-%m-%d %H:%M} on; what is older is not imported.")
        start_ms = int(oldest.timestamp() * 1000)
    token = os.environ.get(TOKEN_VARIABLE)
    api = PrometheusApi(url, headers={"Authorization": f"Bearer {token}"} if token else None)
    labels = read_labels(label) if label else api.external_labels()
    if labels is None:
        say("Prometheus does not tell its external labels: give those that it sends with --label name=value.")
    key = json.dumps([url, sorted(match or []), sorted((labels or {}).items()), start if start[0].isdigit() else ""])
    places = find_instance(settings, demo=demo).places
    state = _State(places.imports / f"prometheus-{hashlib.sha256(key.encode()).hexdigest()[:16]}.json")
    begin_ms = start_ms if again else max(start_ms, state.read())
    with open_database(settings, demo=demo) as database:

        async def run() -> Imported:
            writer = RemoteWrite(database.own_rows, settings=settings.remote_write)
            try:
                history = PrometheusHistory(api, writer, matches=match or (), labels=labels or {})
                return await history.run(begin_ms, end_ms, lambda done: _tell(done, state, quiet=as_json))
            finally:
                await writer.stop()

        done = asyncio.run(run())
    api.close()
    print_answer(
        {"from_ms": begin_ms, "to_ms": done.done_ms, "samples": done.samples, "left_out": done.left_out},
        f"{done.samples} samples are stored, {done.left_out} were left out. Workers build the ledger of them.",
        as_json=as_json,
    )


class _State:
    """How far an import has come, in a file of its own."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> int:
        """Milliseconds since 1970 up to which all is stored; 0 where nothing is."""
        try:
            return int(json.loads(self._path.read_text())["done_ms"])
        except (OSError, ValueError, KeyError, TypeError):
            return 0

    def write(self, done_ms: int) -> None:
        """Keep it."""
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        new = self._path.with_suffix(".new")
        new.touch(mode=0o600)
        new.write_text(json.dumps({"done_ms": done_ms}))
        new.replace(self._path)


def _tell(done: Imported, state: _State, *, quiet: bool) -> None:
    state.write(done.done_ms)
    if not quiet:
        say(f"{datetime.fromtimestamp(done.done_ms / 1000, tz=UTC):%Y-%m-%d %H:%M} · {done.samples} samples")


def _moment(text: str, now: datetime) -> int:
    units = {"m": 60, "h": 3600, "d": 86_400}
    if text[:-1].isdecimal() and text[-1] in units:
        return int((now - timedelta(seconds=int(text[:-1]) * units[text[-1]])).timestamp() * 1000)
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        at = None
    if at is None or at.tzinfo is None:
        fail(f"'{text}' is not a time with zone", next_step="write 2026-11-21T14:00:00Z or 14d", status=BAD_USAGE)
    return int(at.timestamp() * 1000)


def read_labels(given: list[str]) -> dict[str, str]:
    """The labels that `--label name=value` gives."""
    pairs = [text.partition("=") for text in given]
    if any(not name or not equals for name, equals, _ in pairs):
        fail("--label is name=value", next_step="such as --label cluster=east", status=BAD_USAGE)
    return {name: value for name, _, value in pairs}
