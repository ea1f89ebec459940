"""SBOMs look inside wheels: what is known to be there is found, and what may not be shipped is named."""

import json
import sysconfig
from importlib.metadata import Distribution
from pathlib import Path
from typing import Any

import pytest

from architecture.tree import load_script

INSIDE = load_script("deploy/sbom/inside.py")
POLICY = load_script("deploy/sbom/policy.py")
SITE = Path(sysconfig.get_paths()["purelib"])


def found(name: str) -> Distribution:
    return next(iter(Distribution.discover(name=name, path=[str(SITE)])))


@pytest.mark.parametrize(
    ("package", "library"),
    [("psycopg-binary", "libpq"), ("psycopg-binary", "libssl"), ("pillow", "libjpeg"), ("numpy", "libgfortran")],
)
def test_libraries_in_wheels_are_found_with_version_and_licence(package: str, library: str) -> None:
    natives = {native.name: native for native in INSIDE.natives_of(found(package))}
    assert natives[library].version
    assert len(natives[library].sha256) == 64
    assert POLICY.native_licence(library, "")
    licences = [(native.name, POLICY.native_licence(native.name, "MIT")) for native in natives.values()]
    assert list(POLICY.native_faults(package, licences)) == []


def test_crates_that_a_wheel_states_are_found() -> None:
    stated = {part["name"]: part for part in INSIDE.stated_by(found("pydantic-core"))}
    assert {"serde", "jiter"} <= set(stated)
    assert stated["serde"]["purl"].startswith("pkg:cargo/serde@")
    assert "pydantic-core" not in stated


@pytest.mark.parametrize(
    ("name", "content", "seen"),
    [
        ("libc-ares-2af01464.so.2.1", b"\x7fELF1", ("libc-ares", "2.1")),
        ("libbrotlicommon-53534446.so.1.2.0", b"\x7fELF1", ("libbrotlicommon", "1.2.0")),
        ("libx-040039e1-0352e75f.so.5.0.0", b"\x7fELF1", ("libx", "5.0.0")),
        ("libpcre2-8.so.0", b"\x7fELF1", ("libpcre2-8", "0")),
        ("libscript.so", b"/* GNU ld script */", None),
        ("_core.cpython-311-x86_64-linux-gnu.so", b"\x7fELF1", None),
    ],
)
def test_names_of_libraries_are_read(tmp_path: Path, name: str, content: bytes, seen: tuple[str, str] | None) -> None:
    place = tmp_path / "thing.libs"
    place.mkdir()
    (place / name).write_bytes(content)
    natives = list(INSIDE.natives_of(wheel(tmp_path, f"thing.libs/{name}")))
    assert [(native.name, native.version) for native in natives] == ([] if seen is None else [seen])


def test_names_of_one_file_are_one_library(tmp_path: Path) -> None:
    for name in ("libone.so", "libone.so.5"):
        (tmp_path / name).write_bytes(b"\x7fELF")
    assert len(list(INSIDE.natives_of(wheel(tmp_path, "libone.so", "libone.so.5")))) == 1


def test_a_library_without_a_licence_or_under_one_that_is_not_allowed_is_a_fault() -> None:
    faults = list(POLICY.native_faults("thing", [("libnew", ""), ("libreadline", "GPL-3.0-or-later")]))
    assert faults == [
        "libnew in thing is shipped and names no licence",
        "libreadline in thing is shipped under GPL-3.0-or-later",
    ]


def test_each_text_is_printed_once_below_all_that_carry_it() -> None:
    carried = load_script("deploy/sbom/carried.py")
    text = carried.one_file([("b 1 (MIT)", "the text"), ("a 1 (MIT)", "the text"), ("a 1 (MIT)", "the text")])
    assert text.count("the text") == 1
    assert text.count("a 1 (MIT)") == 1
    assert text.index("b 1 (MIT)") < text.index("the text")


def test_a_document_of_what_is_packed_repeats_no_reference() -> None:
    carried = load_script("deploy/sbom/carried.py")
    parts: list[dict[str, Any]] = [carried.python_component(found(name)) for name in ("pydantic-core", "orjson")]
    document = {"components": parts}
    carried.look_inside(document, SITE, {part["name"]: "MIT" for part in parts}, {part["name"] for part in parts})
    inner = [piece["bom-ref"] for part in parts for piece in part["components"]]
    assert len(inner) == len(set(inner)) > 100
    assert carried.stamped(document, "x") == carried.stamped(json.loads(json.dumps(document)), "x")


def wheel(folder: Path, *files: str) -> Distribution:
    info = folder / "thing-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: thing\nVersion: 1.0\n", encoding="utf-8")
    (info / "RECORD").write_text("".join(f"{file},,\n" for file in files), encoding="utf-8")
    return next(iter(Distribution.discover(name="thing", path=[str(folder)])))
