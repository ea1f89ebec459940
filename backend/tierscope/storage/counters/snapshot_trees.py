"""Recorded kernel files as counters: the agent's own readers, asked for what a snapshot tree yields."""

import json
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]

_SCHEMA = "tierscope.once/"
_SCOPES = (("nodes", "node"), ("cgroups", "cgroup"), ("services", "service"))


@dataclass(frozen=True, slots=True)
class Snapshots:
    """n snapshots of k counters in order of time.

    `boots` [n] differ where the kernel restarted. `values` [n, k] are 0 where not `present`. `inventory` is that of
    the newest snapshot, `first_inventory` that of the oldest.
    """

    times_s: npt.NDArray[np.float64]
    boots: Ints
    keys: tuple[str, ...]
    values: Ints
    present: npt.NDArray[np.bool_]
    inventory: Mapping[str, Any]
    first_inventory: Mapping[str, Any]
    problems: tuple[str, ...]


def read_snapshots(agent: Path, path: Path) -> Snapshots:
    """Read a snapshot tree, or an archive of one, with the agent's program.

    Raises:
        ValueError: the path is no snapshot tree; the message names the cause.
        RuntimeError: the agent's program cannot be run, or answers in a way that this program does not know.
    """
    with tempfile.TemporaryFile() as answer:
        try:
            done = subprocess.run(  # noqa: S603 - our own program
                [str(agent), "once", "--root", str(path), "--json"],
                stdout=answer,
                stderr=subprocess.PIPE,
                check=False,
            )
        except OSError as error:
            raise RuntimeError(f"the agent's program {agent} cannot be run: {error.strerror}") from error
        if done.returncode != 0:
            lines = done.stderr.decode(errors="replace").strip().splitlines()
            raise ValueError(lines[-1].removeprefix("tierscope-agent: ") if lines else "the agent's program failed")
        answer.seek(0)
        return _collect(_documents(answer))


def _documents(lines: Any) -> Iterator[dict[str, Any]]:  # noqa: ANN401 - a binary file has no common type
    for line in lines:
        document = json.loads(line)
        if not str(document.get("schema", "")).startswith(_SCHEMA):
            raise RuntimeError("the agent's program answers in another format: rebuild it with `make agent`")
        yield document


def _collect(documents: Iterator[dict[str, Any]]) -> Snapshots:
    places: dict[str, int] = {}
    boots: dict[str | None, int] = {}
    rows: list[tuple[float, int, list[int], list[int]]] = []
    inventory: Mapping[str, Any] = {}
    first_inventory: Mapping[str, Any] = {}
    problems: dict[str, None] = {}
    for document in documents:
        found = dict(_counters(document))
        rows.append(
            (
                document["taken_at_ns"] / 1e9,
                boots.setdefault(document.get("boot_id"), len(boots)),
                [places.setdefault(key, len(places)) for key in found],
                list(found.values()),
            )
        )
        inventory = document.get("inventory") or inventory
        first_inventory = first_inventory or inventory
        problems |= dict.fromkeys(document.get("problems") or ())
    values = np.zeros((len(rows), len(places)), np.int64)
    present = np.zeros(values.shape, np.bool_)
    for number, (_, _, columns, cells) in enumerate(rows):
        values[number, columns] = cells
        present[number, columns] = True
    return Snapshots(
        np.array([row[0] for row in rows], np.float64),
        np.array([row[1] for row in rows], np.int64),
        tuple(places),
        values,
        present,
        inventory,
        first_inventory,
        tuple(problems),
    )


def _counters(document: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    """Keys as they travel, `<scope>|<source>|<name>`, with their values; null is a value that is not there."""
    yield from _of_scope("host", document.get("host") or {})
    for field, scope in _SCOPES:
        for name, sources in (document.get(field) or {}).items():
            yield from _of_scope(f"{scope}:{name}", sources)
    for name, values in (document.get("zones") or {}).items():
        yield from _of_scope(f"zone:{name}", {"zoneinfo": values})


def _of_scope(scope: str, sources: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    for source, values in sources.items():
        for name, value in (values or {}).items():
            if isinstance(value, int):
                yield f"{scope}|{source}|{name}", value
