"""What is inside installed wheels beside their own Python: native libraries, programs, and what their SBOMs state."""

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import Any

from packaging.utils import canonicalize_name

_LIBRARY = re.compile(
    r"^(?P<stem>lib[A-Za-z0-9_+]+(?:-(?![0-9a-f]{8}\b)[a-z0-9]+)*)(?:-[0-9a-f]{8})*(?:-(?P<dash>[\d.]+))?\.so(?:\.(?P<version>[\d.]+))?$"
)
_MAGIC = b"\x7fELF"


@dataclass(frozen=True, slots=True)
class Native:
    """A file of machine code in a wheel that is no module of Python.

    `version` is that of its interface, as the file's name has it, and empty where the name has none.
    """

    name: str
    version: str
    path: str
    sha256: str


def natives_of(distribution: Distribution) -> Iterator[Native]:
    """Shared libraries and programs of a wheel. Modules of Python are the package itself."""
    seen = set()
    for file in sorted(distribution.files or ()):
        place = Path(str(distribution.locate_file(file)))
        library = _LIBRARY.match(place.name)
        is_program = place.parent.name == "bin" and ".." not in file.parts and "." not in place.name
        if not (library or is_program) or not place.is_file():
            continue
        content = place.read_bytes()
        digest = hashlib.sha256(content).hexdigest()
        # Names that lead to one file, such as libpq.so and libpq.so.5, are one library: the longest tells most.
        if content[:4] != _MAGIC or digest in seen:
            continue
        seen.add(digest)
        name = library["stem"] if library else place.name
        yield Native(name, (library["version"] or library["dash"] or "") if library else "", str(file), digest)


def stated_by(distribution: Distribution) -> Iterator[dict[str, Any]]:
    """Components of the SBOMs that a wheel carries in `.dist-info/sboms` (PEP 770), without itself."""
    own = canonicalize_name(distribution.metadata["Name"])
    for file in sorted(distribution.files or ()):
        if file.parent.name != "sboms" or file.suffix != ".json":
            continue
        document = json.loads(Path(str(distribution.locate_file(file))).read_text(encoding="utf-8"))
        yield from (part for part in document.get("components", ()) if canonicalize_name(part["name"]) != own)


def licence_files(distribution: Distribution) -> Iterator[tuple[str, str]]:
    """Paths and texts of licences, notices and lists of authors that a wheel carries, without double texts."""
    seen = set()
    for file in sorted(distribution.files or ()):
        if is_licence(Path(file.name)) or ".dist-info/licenses/" in str(file):
            text = read_text(Path(str(distribution.locate_file(file))))
            if text and text not in seen:
                seen.add(text)
                yield str(file), text


def is_licence(path: Path) -> bool:
    """Whether a file is called as licences and notices are."""
    return path.suffix.lower() not in {".py", ".pyi", ".rs", ".js", ".ts", ".json"} and bool(
        re.match(r"(licen[cs]e|copying|copyright|notice|unlicense)", path.name, re.IGNORECASE)
    )


def read_text(path: Path) -> str:
    """The text of a licence; bytes of old encodings become question marks."""
    return path.read_bytes().decode("utf-8", "replace").strip() if path.is_file() else ""


def installed_in(site: Path) -> list[Distribution]:
    """Distributions below a directory of packages, by name."""
    return sorted(distributions(path=[str(site)]), key=lambda found: canonicalize_name(found.metadata["Name"]))
