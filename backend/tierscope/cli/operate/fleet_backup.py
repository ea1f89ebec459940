"""A backup of a fleet on several servers: one archive with what `pg_dump` writes of each, from one cut through all."""

from __future__ import annotations

import json
import tempfile
import zipfile
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

import tierscope
from tierscope.cli.base.exits import BAD_USAGE, fail, say
from tierscope.cli.operate.client_tools import NO_CATALOGUE, ClientTools
from tierscope.core.errors import TierscopeError

if TYPE_CHECKING:
    from tierscope.core.database import Database
    from tierscope.storage.base.restore import Beside

_MANIFEST = "manifest.json"
_VIEWS = "views.dump"
_FORMAT = 1
_HIDDEN = ("tierscope_fleet", "tierscope_node_*", "tierscope_v1")
"""Schemas that show the nodes, and the views on them. They are made again; a lock on them would keep a node shown that
does not answer."""


def is_archive(path: Path) -> bool:
    """Whether a file is a backup of several servers."""
    with path.open("rb") as file:
        return file.read(2) == b"PK"


def write_archive(path: Path, tools: ClientTools, database: Database) -> float:
    """Write all servers into a file that is there; so many seconds writes to several servers waited."""
    from tierscope.core.clock import utc_now
    from tierscope.usecases.nodes.backups import consistent_cut

    with consistent_cut(database) as cut, zipfile.ZipFile(path, "w", allowZip64=True) as archive:
        listed = []
        for part in cut.parts[::-1]:
            member = f"{part.node.number}-{part.node.name}.dump"
            command = ["pg_dump", "--format=custom", "--no-owner", NO_CATALOGUE, f"--snapshot={part.snapshot}"]
            if part.node.number == 0:
                command += [f"--exclude-schema={schema}" for schema in _HIDDEN]
            url = database.url if part.node.number == 0 else part.node.url
            with archive.open(member, "w", force_zip64=True) as out:
                tools.run(url, command, writes=out)
            told = {"number": part.node.number, "name": part.node.name, "file": member}
            listed.append(told | {"storage": part.storage, "timescaledb": part.timescaledb})
        with archive.open(_VIEWS, "w") as out:
            command = ["pg_dump", "--format=custom", "--no-owner", "--schema-only", "--schema=tierscope_v1"]
            tools.run(database.url, command, writes=out)
        told = {"format": _FORMAT, "release": tierscope.__version__, "written_at": utc_now(), "nodes": listed}
        archive.writestr(_MANIFEST, json.dumps(told, default=str))
    return cut.held_seconds


def restore_archive(path: Path, tools: ClientTools, database: Database, given: list[str]) -> list[str]:
    """Replace all servers by a backup: each is filled beside, and all take their places by one commit.

    Returns the names of the nodes.
    """
    from tierscope.storage.base.restore import Beside, restoring
    from tierscope.usecases.nodes.backups import check_targets, hosts_stay
    from tierscope.usecases.nodes.restoring import drop_left, give_up

    with ExitStack() as ended:
        archive = ended.enter_context(_opened(path))
        manifest = json.loads(archive.read(_MANIFEST))
        names = {int(node["number"]): str(node["name"]) for node in manifest["nodes"]}
        token = ended.enter_context(restoring(database.url))
        # Hosts stay where they are until all servers are filled; the sessions of who holds them end with the databases.
        staying = ended.enter_context(ExitStack())
        staying.enter_context(hosts_stay(database))
        urls = _addresses(database, names, given)
        check_targets(database, names, urls)
        drop_left(urls)
        parts = {number: Beside(url, token) for number, url in urls.items()}
        for node in manifest["nodes"]:
            if node["storage"] == "timescaledb":
                parts[int(node["number"])].require_timescaledb(node.get("timescaledb"))
        try:
            for node in manifest["nodes"]:  # the coordinator is the first: while it is beside, nothing is decided
                _fill(tools, archive, node, parts)
            staying.close()
            database.close()
            take_over(parts, names)
        except BaseException:
            give_up(parts)
            raise
    return list(names.values())


def take_over(parts: Mapping[int, Beside], names: Mapping[int, str]) -> None:
    """Let filled servers take their places: the coordinator's decides, the others follow. What is done stays done."""
    from tierscope.core.database import Database
    from tierscope.usecases.nodes.restoring import finish_if_free

    parts[0].take_place()
    database = Database(parts[0].url, pool_size=2)
    try:
        waiting = finish_if_free(database)
    except TierscopeError as error:
        waiting = [names[0]]
        say(error.detail)
    finally:
        database.close()
    if waiting:
        say(
            f"{', '.join(waiting)} did not answer at the end. The fleet is that of the backup; the next start of the"
            " service, `tierscope migrate` or move of a host gives the restored database its usual name there."
        )


def _fill(tools: ClientTools, archive: zipfile.ZipFile, node: Mapping[str, Any], parts: Mapping[int, Beside]) -> None:
    """Fill a server's database beside the one in use."""
    number, storage = int(node["number"]), node["storage"] == "timescaledb"
    beside = parts[number]
    beside.make(timescaledb=storage, version=node.get("timescaledb"))
    command = ["pg_restore", "--no-owner", "--exit-on-error", "--dbname", beside.name]
    with tempfile.NamedTemporaryFile("w+b") as wanted, archive.open(node["file"]) as dump:
        if number == 0:
            wanted.writelines(_without_servers(tools, beside.url, archive, node["file"]))
            wanted.flush()
            command += ["--use-list", wanted.name]
        tools.run(beside.url, command, reads=dump)
    if number == 0:
        _show(tools, archive, parts)
    beside.complete(timescaledb=storage)


def _without_servers(tools: ClientTools, url: str, archive: zipfile.ZipFile, file: str) -> list[bytes]:
    """What a coordinator's dump lists, but the nodes' addresses and roles: they are made again."""
    with tempfile.TemporaryFile() as listed, archive.open(file) as dump:
        tools.run(url, ["pg_restore", "--list"], reads=dump, writes=listed)
        listed.seek(0)
        return [line for line in listed if b" SERVER - " not in line and b" USER MAPPING - " not in line]


def _show(tools: ClientTools, archive: zipfile.ZipFile, parts: Mapping[int, Beside]) -> None:
    """Let the coordinator that was filled show its nodes, with the views on them, and let read them who could."""
    from tierscope.usecases.nodes.restoring import adopt_nodes

    url = parts[0].filled_url
    with tempfile.TemporaryDirectory() as folder:
        dump = Path(folder) / _VIEWS
        dump.write_bytes(archive.read(_VIEWS))
        entries = tools.run(url, ["pg_restore", "--list", str(dump)], quiet=True).splitlines()
        wanted = Path(folder) / "wanted"
        for kind in (" SCHEMA - tierscope_v1 ", " ACL "):
            if kind == " ACL ":
                adopt_nodes(parts[0], {number: beside for number, beside in parts.items() if number})
            wanted.write_text("\n".join(line for line in entries if kind in line), encoding="utf-8")
            command = ["pg_restore", "--no-owner", "--exit-on-error", "--use-list", str(wanted), "--dbname", ""]
            tools.run(url, [*command, str(dump)])


def _opened(path: Path) -> zipfile.ZipFile:
    try:
        archive = zipfile.ZipFile(path)
        damaged = archive.testzip() or ("" if _MANIFEST in archive.namelist() else _MANIFEST)
    except (zipfile.BadZipFile, OSError, EOFError) as error:
        damaged = str(error)
    if damaged:
        fail(f"{path} is damaged: {damaged}", next_step="take another backup; nothing was changed")
    return archive


def _addresses(database: Database, names: Mapping[int, str], given: list[str]) -> dict[int, str]:
    """Where each server of a backup goes: the configured database, what was given, else where its name is now."""
    from tierscope.usecases.nodes.backups import known_addresses

    known = known_addresses(database)
    for word in given:
        name, separator, url = word.partition("=")
        if not separator or name not in names.values() or name == names[0]:
            others = ", ".join(name for number, name in names.items() if number)
            fail(f"{word.split('=')[0]!r} names no node of the backup", next_step=f"it has {others}", status=BAD_USAGE)
        known[name] = url
    lacking = [name for number, name in names.items() if number and name not in known]
    if lacking:
        step = " ".join(f"--node {name}=postgresql://..." for name in lacking)
        fail(f"no address is known for {', '.join(lacking)}", next_step=f"add {step}", status=BAD_USAGE)
    return {number: known[name] if number else database.url for number, name in names.items()}


def say_written(path: Path, held_seconds: float) -> None:
    """Tell of a backup that was written."""
    typer.echo(
        f"Wrote {path} ({path.stat().st_size:,} bytes). Writes to several servers waited {held_seconds:.2f} s;"
        " batches of hosts did not."
    )
