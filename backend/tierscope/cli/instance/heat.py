"""Programs whose pages the agent of an instance samples: what `up --heat` names, and which source samples them here."""

import json
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tierscope.cli.base.exits import BAD_USAGE, fail
from tierscope.cli.base.instance import Instance
from tierscope.cli.instance.kept import keep_words, kept_words
from tierscope.core.embedded.process import ProcessId, identify, is_running

_PID = "pid:"
_OWN = "tierscope/"
"""How services begin that are this instance's own processes."""
_EXPLAIN_SECONDS = 60.0
_PAGE_UNITS = ("access", "page")
"""How the granularity of a source begins that tells pages apart."""


def program_of(text: str) -> str:
    """Return what `--heat TEXT` means, as the agent's setting `programs` takes it.

    Digits are a process id, kept with the start of its process so that no later process is taken for it. Ends the
    command where no process has that id, or nothing is named.
    """
    text = text.strip()
    if not text:
        fail("--heat names no program", next_step="name a path, a program or a process id", status=BAD_USAGE)
    if not (text.isascii() and text.isdigit()):
        return text
    process = identify(int(text))
    if process is None:
        fail(f"no process has the id {text}", next_step="look it up with `ps -eo pid,comm,args`", status=BAD_USAGE)
    return f"{_PID}{process.pid}@{process.start_ticks}"


def keep_programs(instance: Instance, programs: Sequence[str]) -> None:
    """Keep the programs for this start of the instance and the ones after it; an empty list switches them off.

    Raises OSError.
    """
    if programs:
        keep_words(instance.heat_programs_file, programs)
    else:
        instance.heat_programs_file.unlink(missing_ok=True)


def kept_programs(instance: Instance) -> list[str]:
    """Return the kept programs; without those processes that have ended."""
    return [program for program in kept_words(instance.heat_programs_file) if not _has_ended(program)]


def _has_ended(program: str) -> bool:
    pid, separator, start = program.removeprefix(_PID).partition("@")
    if not program.startswith(_PID) or not separator or not (pid + start).isdigit():
        return False
    return not is_running(ProcessId(int(pid), int(start)))


def shown(program: str) -> str:
    """Return how a kept program is called in front of people."""
    if program.startswith(_PID):
        return f"process {program.removeprefix(_PID).partition('@')[0]}"
    return program


@dataclass(frozen=True, slots=True)
class Source:
    """A back end of heat as `tierscope-agent explain` describes it."""

    name: str
    works_here: bool | None
    reason: str
    hint: str
    granularity: str

    @property
    def tells_pages_apart(self) -> bool:
        """Whether page samples come of it."""
        return self.granularity.startswith(_PAGE_UNITS)


@dataclass(frozen=True, slots=True)
class Sources:
    """The chain of back ends, best first, and which one would measure; None where none works."""

    chain: tuple[Source, ...]
    would_measure: Source | None


def read_sources(document: dict[str, Any]) -> Sources:
    """Return the sources of the answer of `tierscope-agent explain --json`. Raises KeyError or TypeError."""
    entries = {
        entry["name"]: Source(entry["name"], entry["works_here"], entry["reason"], entry["hint"], entry["granularity"])
        for entry in document["collectors"]
    }
    chain = tuple(entries[name] for name in document["chain"])
    return Sources(chain, entries.get(document["would_measure"] or ""))


def ask_sources(binary: Path, config: Path) -> Sources | None:
    """Have the agent's program try each source on memory of its own; None where it gives no answer."""
    command = [str(binary), "explain", "--json", "--config", str(config)]
    try:
        answer = subprocess.run(command, capture_output=True, check=True, timeout=_EXPLAIN_SECONDS)  # noqa: S603
        return read_sources(json.loads(answer.stdout))
    except (OSError, subprocess.SubprocessError, ValueError, KeyError, TypeError):
        return None


def say_sources(programs: Sequence[str], sources: Sources | None, *, root: bool | None = None) -> list[str]:
    """Return in plain words which source samples the programs, why better ones do not, and what root would change."""
    named = ", ".join(shown(program) for program in programs)
    if sources is None:
        return [f"heat of {named}: `tierscope-agent explain` says which source measures it"]
    chosen = sources.would_measure
    lines = []
    if chosen is None:
        lines.append(f"heat of {named}: not measured, because no source works here")
    elif chosen.tells_pages_apart:
        lines.append(f"heat and page samples of {named}: by {chosen.name}, the best source that works here")
        lines.append("  the first page samples come about 11 minutes after it is found; then `tierscope recommend`")
    else:
        lines.append(f"heat of {named}: by {chosen.name}, which gives no page samples: `recommend` cannot answer")
    better = sources.chain if chosen is None else sources.chain[: sources.chain.index(chosen)]
    for source in better:
        hint = f" ({source.hint})" if source.hint else ""
        lines.append(f"  not {source.name}: {source.reason}{hint}")
    is_root = os.geteuid() == 0 if root is None else root
    if not is_root:
        lines.append(
            "  without root only your own processes are measured, and hardly ever page by page: for page samples stop"
            " it and run `sudo tierscope up --heat ...`; counters, ledger and dashboard need no root"
        )
    return lines


def describe_heat(instance: Instance, status_file: Path) -> list[str]:
    """Return what `status` says of the named programs: who measures them, and which patterns fit no process."""
    programs = kept_programs(instance)
    if not programs:
        return []
    try:
        document = json.loads(status_file.read_text(encoding="utf-8"))
        backend, warnings = document.get("heat_rung"), document.get("heat_warnings") or []
        services = document.get("heat_services") or []
    except (OSError, ValueError, AttributeError):
        backend, warnings, services = None, [], []
    named = ", ".join(shown(program) for program in programs)
    others = ", ".join(service for service in services if not service.startswith(_OWN))
    by = f"{others} measured by {backend}" if backend and others else "nothing is measured yet"
    return [f"  heat of {named}: {by}", *(f"  warning: {warning}" for warning in warnings)]
