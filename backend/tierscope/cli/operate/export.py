"""`tierscope export`: lists and series of a fleet as a folder of Parquet, a file for each table, subject and day.

It asks the API, so that it runs where the data is wanted, with the rights of a token. Whole days that are there stay: a
second run goes on where the first one ended, and later ones add the days since.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tierscope.cli.base.exits import BAD_USAGE, fail, print_answer, say
from tierscope.cli.base.options import AsJson
from tierscope.core.clock import utc_now

if TYPE_CHECKING:
    import httpx

    from tierscope_client import Client

LISTS = ("hosts", "services", "alerts", "advice", "events", "experiments", "capacity", "prices", "data-quality")
SERIES: Mapping[str, tuple[str, ...]] = {
    "services": ("ledger", "heat", "metrics", "ping-pong", "stability"),
    "hosts": ("ledger", "ping-pong"),
}
"""Series by what they are of; each is `/v1/<of>/<id>/<name>`."""
MOST_POINTS = 1440
"""Of a file: one a minute, where the service still has minutes."""
LATE = timedelta(hours=1)
"""A day may still change for so long after its end."""
MANIFEST = "manifest.json"
SAVED_EVERY = 50
"""Tables between two versions of the manifest; those after the last one are fetched again where a run is killed."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(export)


def export(
    directory: Annotated[Path, typer.Argument(help="Where files are written; made where it is not there.")],
    url: Annotated[str | None, typer.Option(help="Address of the service, in place of the one asked else.")] = None,
    service: Annotated[str | None, typer.Option(help="One service alone and its hosts, by its id.")] = None,
    start: Annotated[datetime | None, typer.Option("--from", help="First day (UTC); default six days ago.")] = None,
    end: Annotated[datetime | None, typer.Option("--to", help="Last day (UTC); default today.")] = None,
    as_json: AsJson = False,
) -> None:
    """Write lists and series of the fleet into a folder of Parquet; a second run goes on where the first one ended."""
    from tierscope.cli.base.service import open_service

    today = utc_now().date()
    first, last = start.date() if start else today - timedelta(days=6), end.date() if end else today
    if last < first:
        fail("--to lies before --from", next_step="swap them", status=BAD_USAGE)
    folder = Folder(directory)
    with open_service(url=url) as client:
        counts = folder.fill(client, service=service, first=first, last=min(last, today), quiet=as_json)
    away = sorted(folder.away)
    if away:
        say(
            f"Hosts of nodes that are away are left out: {', '.join(away)}. Days of services count as not complete: run"
            " this again once all nodes answer."
        )
    print_answer(
        {"directory": str(directory), **counts, "away": away},
        f"{counts['written']} files are written, {counts['kept']} were there. {directory / MANIFEST} lists them.",
        as_json=as_json,
    )


@dataclass(frozen=True, slots=True)
class Part:
    """A file of the export. `day` is None for a list, which is as of the run."""

    path: str
    request: str
    parameters: Mapping[str, str | int]
    day: date | None = None

    @property
    def of_host(self) -> bool:
        """Whether it is about one host, whose server has all of it."""
        return self.request.startswith("/v1/hosts/")


class Folder:
    """The folder and its manifest: what each file is, whether it is complete, and where its data comes from."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.away: set[str] = set()
        """Nodes of the fleet that were away in one of the answers, by name."""
        self._files: dict[str, dict[str, Any]] = {}
        manifest = directory / MANIFEST
        try:
            directory.mkdir(parents=True, exist_ok=True)
            if manifest.exists():
                self._files = json.loads(manifest.read_text(encoding="utf-8"))["files"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            fail(f"cannot read or write {manifest}: {error}", next_step="Name another directory, or an empty one.")

    def fill(self, client: Client, *, service: str | None, first: date, last: date, quiet: bool) -> dict[str, int]:
        """Write what is missing; return how many files were written and how many stayed."""
        counts = {"written": 0, "kept": 0}
        parts = list(_parts(client, service, first, last))
        try:
            for number, part in enumerate(parts, start=1):
                if self._has(part):
                    counts["kept"] += 1
                    continue
                counts["written"] += self._write(part, client)
                if number % SAVED_EVERY == 0:
                    self._save()
                    if not quiet:
                        say(f"{number} of {len(parts)} tables")
        finally:
            self._save()
        return counts

    def _has(self, part: Part) -> bool:
        """Whether a file is complete and as it was written; lists are always written anew."""
        known = self._files.get(part.path)
        path = self._directory / part.path
        return known is not None and known["complete"] and path.is_file() and path.stat().st_size == known["bytes"]

    def _save(self) -> None:
        text = json.dumps({"format": "tierscope-export/1", "files": self._files}, indent=1, sort_keys=True)
        _replace(self._directory / MANIFEST, text.encode())

    def _write(self, part: Part, client: Client) -> int:
        """Fetch a table and write its files, in place of all that it had before; return how many they are."""
        asked_at = utc_now()
        bodies, origins, whole = [], set[str](), True
        parameters = {**part.parameters, "format": "parquet"}
        while True:  # a list may be longer than one file
            response = client.send("GET", part.request, query=parameters)
            self.away |= (away := _away_nodes(response))
            bodies.append(response.content)
            origins.add(response.headers.get("X-Origin", "unknown"))
            whole = whole and (part.of_host or not away)
            cursor = response.headers.get("X-Next-Cursor")
            if cursor is None:
                break
            parameters["cursor"] = cursor
        origin = origins.pop() if len(origins) == 1 else "mixed"
        for number, body in enumerate(bodies):
            piece = part if number == 0 else _continued(part, number)
            self._replace(piece, body, origin, asked_at, whole=whole)
        number = len(bodies)
        while self._files.pop(gone := _continued(part, number).path, None) is not None:
            (self._directory / gone).unlink(missing_ok=True)
            number += 1
        return len(bodies)

    def _replace(self, part: Part, body: bytes, origin: str, asked_at: datetime, *, whole: bool) -> None:
        _replace(self._directory / part.path, body)
        day = part.day
        ended = None if day is None else datetime(day.year, day.month, day.day, tzinfo=UTC) + timedelta(days=1)
        self._files[part.path] = {
            "request": part.request,
            "parameters": dict(part.parameters),
            "day": None if day is None else day.isoformat(),
            "complete": whole and ended is not None and ended + LATE <= asked_at,
            "origin": origin,
            "bytes": len(body),
            "sha256": hashlib.sha256(body).hexdigest(),
            "written_at": utc_now().isoformat(),
        }


def _parts(client: Client, service: str | None, first: date, last: date) -> Iterator[Part]:
    """The files of an export, lists first, then series day by day."""
    if service is None:
        for name in LISTS:
            yield Part(f"lists/{name}.parquet", f"/v1/{name}", {})
    services = [row["id"] for row in client.iter_services(limit=1000)] if service is None else [service]
    hosts = [row["id"] for row in client.iter_hosts(limit=1000, service=service)]
    subjects = {"services": services, "hosts": hosts}
    for offset in range((last - first).days + 1):
        day = first + timedelta(days=offset)
        window: dict[str, str | int] = {
            "from": f"{day}T00:00:00Z",
            "to": f"{day + timedelta(days=1)}T00:00:00Z",
            "max_points": MOST_POINTS,
        }
        for of, names in SERIES.items():
            for name in names:
                for subject in subjects[of]:
                    place = f"series/{of}-{name}/{of[:-1]}={subject}/day={day}/series.parquet"
                    yield Part(place, f"/v1/{of}/{subject}/{name}", window, day)


def _continued(part: Part, number: int) -> Part:
    stem = part.path.removesuffix(".parquet")
    return Part(f"{stem}-{number}.parquet", part.request, part.parameters, part.day)


def _replace(path: Path, body: bytes) -> None:
    """Write a file at once or not at all."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_name(f".{path.name}.partial")
        partial.write_bytes(body)
        partial.replace(path)
    except OSError as error:
        fail(f"cannot write {path}: {error}", next_step="Make room, or name another directory; then run it again.")


def _away_nodes(response: httpx.Response) -> set[str]:
    """Names of nodes whose hosts an answer leaves out."""
    return {name for name in response.headers.get("X-Nodes-Away", "").split(", ") if name}
