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
from tierscope.cli.base.exits import BAD_USAGE, fail
from tierscope.cli.operate.client_tools import ClientTools

if TYPE_CHECKING:
    from tierscope.core.database import Database

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
            command = ["pg_dump", "--format=custom", "--no-owner", f"--snapshot={part.snapshot}"]
            if part.node.number == 0:
                command += [f"--exclude-schema={schema}" for schema in _HIDDEN]
            url = database.url if part.node.number == 0 else part.node.url
            with archive.open(member, "w", force_zip64=True) as out:
                tools.run(url, command, writes=out)
            told = {"number": part.node.number, "name": part.node.name, "storage": part.storage, "file": member}
            listed.append(told)
        with archive.open(_VIEWS, "w") as out:
            command = ["pg_dump", "--format=custom", "--no-owner", "--schema-only", "--schema=tierscope_v1"]
            tools.run(database.url, command, writes=out)
        told = {"format": _FORMAT, "release": tierscope.__version__, "written_at": utc_now(), "nodes": listed}
        archive.writestr(_MANIFEST, json.dumps(told, default=str))
    return cut.held_seconds


def restore_archive(path: Path, tools: ClientTools, database: Database, given: list[str]) -> list[str]:
    """Replace all servers by a backup: each is filled beside, and all take their places once all are complete.

    Returns the names of the nodes.
    """
    from tierscope.storage.base.restore import replaced_database
    from tierscope.usecases.nodes.backups import adopt_nodes, check_targets, hosts_stay

    with ExitStack() as ended:
        archive = ended.enter_context(_opened(path))
        manifest = json.loads(archive.read(_MANIFEST))
        names = {int(node["number"]): str(node["name"]) for node in manifest["nodes"]}
        urls = _addresses(database, names, given)
        # Hosts stay where they are until all servers are filled; the sessions of who holds them end with the databases.
        staying = ended.enter_context(ExitStack())
        staying.enter_context(hosts_stay(database))
        check_targets(database, names, urls)
        for node in manifest["nodes"]:  # the coordinator is entered first, so that it takes its place last
            number = int(node["number"])
            storage = node["storage"] == "timescaledb"
            name = ended.enter_context(replaced_database(urls[number], timescaledb=storage))
            command = ["pg_restore", "--no-owner", "--exit-on-error", "--dbname", name]
            with tempfile.NamedTemporaryFile("w+b") as wanted, archive.open(node["file"]) as dump:
                if number == 0:
                    wanted.writelines(_without_servers(tools, urls[0], archive, node["file"]))
                    wanted.flush()
                    command += ["--use-list", wanted.name]
                tools.run(urls[number], command, reads=dump)
            if number == 0:
                _show(tools, archive, urls, name, adopt_nodes)
        staying.close()
    database.close()
    return list(names.values())


def _without_servers(tools: ClientTools, url: str, archive: zipfile.ZipFile, file: str) -> list[bytes]:
    """What a coordinator's dump lists, but the nodes' addresses and roles: they are made again."""
    with tempfile.TemporaryFile() as listed, archive.open(file) as dump:
        tools.run(url, ["pg_restore", "--list"], reads=dump, writes=listed)
        listed.seek(0)
        return [line for line in listed if b" SERVER - " not in line and b" USER MAPPING - " not in line]


def _show(tools: ClientTools, archive: zipfile.ZipFile, urls: Mapping[int, str], name: str, adopt: Any) -> None:  # noqa: ANN401
    """Let the coordinator that was filled show its nodes, with the views on them, and let read them who could."""
    from tierscope.core.database import driver_url

    url = driver_url(urls[0]).set(database=name).render_as_string(hide_password=False)
    with tempfile.TemporaryDirectory() as folder:
        dump = Path(folder) / _VIEWS
        dump.write_bytes(archive.read(_VIEWS))
        entries = tools.run(url, ["pg_restore", "--list", str(dump)], quiet=True).splitlines()
        wanted = Path(folder) / "wanted"
        for kind in (" SCHEMA - tierscope_v1 ", " ACL "):
            if kind == " ACL ":
                adopt(url, urls)
            wanted.write_text("\n".join(line for line in entries if kind in line), encoding="utf-8")
            command = ["pg_restore", "--no-owner", "--exit-on-error", "--use-list", str(wanted), "--dbname", name]
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
