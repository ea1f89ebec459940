"""Takes over what sysstat and Performance Co-Pilot recorded on hosts, as if it had been sent by remote write."""

import bz2
import gzip
import json
import lzma
import os
import re
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn
from zoneinfo import ZoneInfo

import numpy as np

from tierscope.core.errors import ConfigurationError, Unprocessable
from tierscope.domain.ingest.history import collectl, pcp, sysstat
from tierscope.domain.ingest.history.recorded import Recorded
from tierscope.storage.ingest.sample_core import load_core
from tierscope.usecases.ingest.remote_write import RemoteWrite

REQUEST_SAMPLES = 50_000
UNPACKED_BYTES = 256 << 20
TAR_DIRECTORIES, TAR_BYTES = 4096, 4 << 30
RUN_SECONDS = 600
_SADF = ("sadf", "Debian package sysstat")
_PMREP = ("pmrep", "Debian package pcp, Red Hat package pcp-system-tools")
_JSON = f"`sadf -j FILE -- {' '.join(sysstat.SAR_OPTIONS)} > FILE.json`"
_CUT_OFF = "End of system activity file unexpected"
_CUT_ARCHIVE = "Corrupted record in a PCP archive log"
_PACKED = {b"\xfd7zXZ\0": lzma.open, b"\x1f\x8b": gzip.open, b"BZh": bz2.open}
_SA = re.compile(r"sa\d\d(\d{6})?(\.(xz|gz|bz2))?")
_PMLOGGER = re.compile(r"\d{8}[\d.-]*\.(index|meta|\d+)(\.(xz|zst|gz|bz2|lzma))?")
_COLLECTL = re.compile(r".+\.raw(\.gz)?")
"""Names that the programs give their files, by which these are found in whole trees and in archives of them."""
_ARCHIVE = re.compile(r"\.(index|meta|\d+)(\.(xz|zst|gz|bz2|lzma))?$")


@dataclass(slots=True)
class Stored:
    """Samples stored and left out, and of the latter how many by reason."""

    samples: int
    left_out: dict[str, int]


def read_sysstat(path: Path, zone: ZoneInfo | None) -> list[Recorded]:
    """What an `sa` file, output of `sadf -j`, or a directory or tar of them holds; each may be packed as by sa2.

    `zone`: that of times in JSON that are not in UTC.

    Raises:
        Unprocessable: it is none of these, or this machine's sadf cannot read it.
        ConfigurationError: this machine has no sadf.
    """
    if path.is_dir():
        files = sorted(file for file in path.iterdir() if re.match(r"sa\d", file.name) and file.is_file())
        files = files or _below(path, _SA)
        if not files:
            raise Unprocessable(f"{path} has no file sa*", next_step="Name /var/log/sysstat or /var/log/sa.")
        return [one for file in files for one in read_sysstat(file, zone)]
    if tarfile.is_tarfile(path):
        with _unpacked(path, _SA, "sysstat") as folder:
            return read_sysstat(folder, zone)
    with path.open("rb") as file:
        head = file.read(64)
    packed = next((opened for magic, opened in _PACKED.items() if head.startswith(magic)), None)
    if packed is not None:
        with tempfile.TemporaryDirectory() as folder:
            whole = Path(folder) / path.stem
            _unpack(packed, path, whole)
            return read_sysstat(whole, zone)
    if head[:2] in (b"\x96\xd5", b"\xd5\x96"):
        return [_read_sa(path, ".".join(map(str, head[4:7])))]
    return _read_json(path, zone)


def _below(path: Path, wanted: re.Pattern[str]) -> list[Path]:
    """Files of these names anywhere in a tree, such as a report of sos or directories by month or host."""
    return sorted(file for file in path.rglob("*") if wanted.fullmatch(file.name) and file.is_file())


@contextmanager
def _unpacked(path: Path, wanted: re.Pattern[str], program: str) -> Iterator[Path]:
    """The files of these names in a tar, each below a directory of that which it was in.

    Raises:
        Unprocessable: there is none, or there is too much.
    """
    with tempfile.TemporaryDirectory() as name:
        folder, size = Path(name), 0
        parents: dict[str, Path] = {}
        for parent, base, content in _members(path, wanted):
            size += len(content)
            if size > TAR_BYTES or len(parents) > TAR_DIRECTORIES:
                most = f"{TAR_BYTES >> 30} GiB, or {TAR_DIRECTORIES:,} directories, of {program}"
                raise Unprocessable(f"{path} holds more than {most}", next_step="Unpack it yourself.")
            into = parents.setdefault(parent, folder / str(len(parents)))
            into.mkdir(exist_ok=True)
            (into / base).write_bytes(content)
        if not parents:
            raise Unprocessable(f"{path} holds no file of {program}", next_step=_what(path))
        yield folder


def _members(path: Path, wanted: re.Pattern[str]) -> Iterator[tuple[str, str, bytes]]:
    try:
        with tarfile.open(path, "r|*") as archive:
            for member in archive:
                parent, _, base = member.name.rpartition("/")
                content = archive.extractfile(member) if member.isfile() and wanted.fullmatch(base) else None
                if content is None:
                    continue
                if member.size > UNPACKED_BYTES:
                    told = f"{member.name} in {path} is larger than {UNPACKED_BYTES >> 20} MiB"
                    raise Unprocessable(told, next_step="Unpack it yourself.")
                yield parent, base, content.read()
    except (OSError, EOFError, lzma.LZMAError, tarfile.TarError) as error:
        raise Unprocessable(f"{path} cannot be unpacked: {error}", next_step="Copy it again.") from error


def _unpack(opened: Any, path: Path, whole: Path) -> None:  # noqa: ANN401 - three functions of one form
    try:
        with opened(path, "rb") as source:
            content = source.read(UNPACKED_BYTES + 1)
    except (OSError, EOFError, lzma.LZMAError) as error:
        raise Unprocessable(f"{path} cannot be unpacked: {error}", next_step="Copy it again.") from error
    if len(content) > UNPACKED_BYTES:
        raise Unprocessable(f"{path} unpacks to more than {UNPACKED_BYTES >> 20} MiB", next_step="Unpack it yourself.")
    whole.write_bytes(content)


def _read_sa(path: Path, version: str) -> Recorded:
    header = _run(_SADF, ["-H", str(path.resolve())], path)
    words = ["-r", "-U", "-O", "debug", str(path.resolve()), "--"]
    text, cut_off, _ = _run(_SADF, [*words, *sysstat.SAR_OPTIONS], path, bears=_CUT_OFF).partition(_CUT_OFF)
    if cut_off:
        # sadf goes through the file for each kind and ends at the first, so each is asked for by itself.
        kinds = [kind.split() for kind in re.findall(r"-\w(?: [A-Z]+)?", " ".join(sysstat.SAR_OPTIONS))]
        text = "".join(_run(_SADF, [*words, *kind], path, bears=_CUT_OFF).partition(_CUT_OFF)[0] for kind in kinds)
    try:
        recorded = sysstat.read_raw(header, text)
    except ValueError as error:
        raise Unprocessable(f"{path}: {error}", next_step=f"Give {_JSON}.") from error
    if not recorded.columns.keys() - {("sysstat_boot_time_seconds", ())}:
        own = _run(_SADF, ["-V"], path).partition("version ")[2].partition("\n")[0] or "of this machine"
        raise Unprocessable(
            f"sadf {own} finds nothing in {path}, which sysstat {version} wrote",
            next_step=f"Use sadf {version} or later, or give what that of the host prints: {_JSON}.",
        )
    if cut_off:
        recorded.notes.append("the file ends within a record, as after a crash of its host: what is before is taken")
    return recorded


def _read_json(path: Path, zone: ZoneInfo | None) -> list[Recorded]:
    try:
        documents = _documents(path.read_text(encoding="utf-8"))
        hosts = [host for document in documents for host in document["sysstat"]["hosts"]]
        return [sysstat.read_json(host, zone) for host in hosts]
    except ValueError as error:
        if "zone" in str(error):
            raise Unprocessable(f"{path}: {error}", next_step="Add --timezone, such as Europe/Berlin.") from error
        _refuse(path, error)
    except (KeyError, TypeError, AttributeError) as error:
        _refuse(path, error)


def _documents(text: str) -> Iterator[Any]:
    """JSON documents one after the other, as `cat sa*.json` puts them."""
    decoder, rest = json.JSONDecoder(), text.strip()
    while True:
        document, end = decoder.raw_decode(rest)
        yield document
        rest = rest[end:].lstrip()
        if not rest:
            return


def _refuse(path: Path, error: Exception) -> NoReturn:
    told = _what(path)
    if "sadf -j" in told:
        raise Unprocessable(
            f"{path} is cut off, or no whole output of `sadf -j`: {error}", next_step=f"Give {_JSON}."
        ) from error
    raise Unprocessable(
        f"{path} is neither a data file of sysstat (sa) nor output of `sadf -j`", next_step=told or f"Give {_JSON}."
    ) from error


def _what(path: Path) -> str:
    """What a file is, and what takes it; empty where nothing tells."""
    told = load_core().recognise_file(path)
    return "" if told is None else f"It is {told[0]}: {told[1]}."


def read_pcp(path: Path, host: str | None, zone: ZoneInfo | None) -> list[Recorded]:
    """What an archive of Performance Co-Pilot (any of its files, or its name without ending), a directory or tar of
    such, or a table of `pmrep -o csv` holds. `host`: that of a table, which names none; `zone`: that of its times.

    Raises:
        Unprocessable: it is none of these, or pmrep cannot read it.
        ConfigurationError: this machine has no pmrep.
    """  # noqa: D205 - one sentence
    if path.is_dir():
        names = sorted({base for file in path.iterdir() if (base := _archive(file)) and not base.name.startswith(".")})
        names = names or sorted({base for file in _below(path, _PMLOGGER) if (base := _archive(file))})
        if not names:
            raise Unprocessable(f"{path} has no archive", next_step="Name one of /var/log/pcp/pmlogger/HOST.")
        return [one for name in names for one in read_pcp(name, host, zone)]
    if path.is_file() and tarfile.is_tarfile(path):
        with _unpacked(path, _PMLOGGER, "pmlogger") as folder:
            return read_pcp(folder, host, zone)
    archive = _archive(path) if path.exists() else path
    if archive is None:
        told = _what(path)
        if host is None and told and "pmrep" not in told:
            raise Unprocessable(f"{path} is no archive and no table of `pmrep -o csv`", next_step=told)
        if host is None:
            raise Unprocessable(f"{path} names no host", next_step="Add --host NAME.")
        with path.open(encoding="utf-8", errors="replace") as lines:
            return [_read_table(lines, host, zone, path)]
    about = _run(("pmloglabel", _PMREP[1]), ["-l", str(archive.absolute())], path)
    named = re.search(r"^Performance metrics from host (\S+)", about, re.MULTILINE)
    words = pcp.COMMAND.replace("ARCHIVE", "").split("'")
    options = [*words[0].split()[1:], words[1], *words[2].split()]
    options.insert(options.index("-a") + 1, str(archive.absolute()))
    text, cut_off, _ = _run(_PMREP, options, path, bears=_CUT_ARCHIVE).partition(_CUT_ARCHIVE)
    recorded = _read_table(text.splitlines(), host or (named[1] if named else archive.name), zone, path)
    if cut_off:
        recorded.notes.append("the archive ends within a record, as after a crash of its host: what is before is taken")
    return [recorded]


def read_collectl(path: Path) -> list[Recorded]:
    """What a raw file of collectl holds, packed or not, or a directory or tar of them.

    Raises:
        Unprocessable: it is none.
    """
    if path.is_dir():
        files = _below(path, _COLLECTL)
        if not files:
            raise Unprocessable(f"{path} has no file *.raw.gz", next_step="Name /var/log/collectl.")
        return [one for file in files for one in read_collectl(file)]
    if tarfile.is_tarfile(path):
        with _unpacked(path, _COLLECTL, "collectl") as folder:
            return read_collectl(folder)
    with path.open("rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
    try:
        with (gzip.open if packed else open)(path, "rt", encoding="utf-8", errors="replace") as lines:
            return [collectl.read_raw(_until_cut(lines))]
    except (ValueError, OSError) as error:
        raise Unprocessable(f"{path}: {error}", next_step=_what(path) or "Give a file *.raw.gz.") from error


def _until_cut(lines: Iterable[str]) -> Iterator[str]:
    """Lines up to where a packed file ends too early, as that of today does."""
    try:
        yield from lines
    except EOFError:
        return


def _archive(path: Path) -> Path | None:
    """The name of the archive that a file is part of."""
    base = _ARCHIVE.sub("", path.name)
    return path.with_name(base) if base != path.name else None


def _read_table(lines: Iterable[str], host: str, zone: ZoneInfo | None, path: Path) -> Recorded:
    try:
        return pcp.read_csv(lines, host, zone)
    except ValueError as error:
        step = "Add --timezone, such as Europe/Berlin." if "zone" in str(error) else f"Give `{pcp.COMMAND}`."
        step = _what(path) or step if "no table" in str(error) else step
        raise Unprocessable(f"{path}: {error}", next_step=step) from error


def _run(program: tuple[str, str], words: Sequence[str], path: Path, *, bears: str = "") -> str:
    """What a program prints. It is not shown the Python of this one, which lacks the modules of its own.

    `bears`: an error that what it printed before is taken in spite of, with the error behind it.
    """
    name, package = program
    environment = {**os.environ, "LC_ALL": "C", "PATH": f"/usr/bin:/bin:{os.environ.get('PATH', '')}"}
    found = shutil.which(name, path=environment["PATH"])
    if found is None:
        raise ConfigurationError(f"{path} is read by {name}, which is not on this machine", next_step=f"Add {package}.")
    try:
        done = subprocess.run(  # noqa: S603 - a program of the distribution, and no shell
            [found, *words], capture_output=True, env=environment, timeout=RUN_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Unprocessable(f"{name} did not read {path}: {error}", next_step="Run it by hand.") from error
    if done.returncode != 0:
        whole = (done.stderr or done.stdout).decode(errors="replace").strip()
        if bears and bears in whole:
            return done.stdout.decode(errors="replace") + bears
        said = whole.splitlines() or [f"status {done.returncode}"]
        convert = "Convert it (`sadf -c FILE > NEW`) and give NEW, or read it on the host that wrote it."
        other = "Read it on the host that wrote it, and give what is printed there."
        raise Unprocessable(
            f"{name} cannot read {path}: {' '.join(said[:2])}", next_step=convert if "convert" in whole else other
        )
    return done.stdout.decode(errors="replace")


async def store_recorded(writer: RemoteWrite, recorded: Iterable[Recorded], labels: Mapping[str, str]) -> Stored:
    """Stores recordings. `labels` are given to all of their series.

    Raises:
        TierscopeError: the store does not answer; what was stored counts once when it comes again.
    """
    stored = Stored(0, {})
    for one in recorded:
        columns: list[tuple[object, object, object]] = []
        size = 0
        for series, column in one.series({"job": one.program, "instance": one.host, **labels}):
            times = sorted(column)
            for at in range(0, len(times), REQUEST_SAMPLES):
                part = times[at : at + REQUEST_SAMPLES]
                if size + len(part) > REQUEST_SAMPLES:
                    await _send(writer, columns, stored)
                    columns, size = [], 0
                columns.append((series, np.array(part, np.int64), np.array([column[t] for t in part], np.float64)))
                size += len(part)
        await _send(writer, columns, stored)
    return stored


async def _send(writer: RemoteWrite, columns: list[tuple[object, object, object]], stored: Stored) -> None:
    if not columns:
        return
    taken = await writer.submit(load_core().write_request(columns))
    stored.samples += taken.samples
    for reason, n in taken.left_out.items():
        stored.left_out[reason] = stored.left_out.get(reason, 0) + n
