"""Write the code generated from contract/proto: Python classes for the service, Rust types for the agent.

    .venv/bin/python contract/gen_proto.py            write both
    .venv/bin/python contract/gen_proto.py --python   the Python half alone (needs no cargo)

The output is committed, so that neither protoc nor prost-build is needed to build the product. Same input and same
tool versions give the same bytes.
"""

import argparse
import importlib.util
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROTO_DIR = ROOT / "contract" / "proto"
PYTHON_OUT = ROOT / "backend" / "tierscope" / "wire" / "_generated"
RUST_OUT = ROOT / "collector-agent" / "crates" / "wire" / "src" / "_generated"
RUST_GENERATOR = ROOT / "contract" / "gen-rust"
PYTHON_PACKAGE = "tierscope.wire._generated"

PACKAGE_DOCSTRING = '"""Protobuf classes of the agent wire; written by contract/gen_proto.py."""\n'


def proto_files() -> list[str]:
    """Names of all .proto files, relative to the proto directory, sorted."""
    return sorted(str(path.relative_to(PROTO_DIR)) for path in PROTO_DIR.rglob("*.proto"))


def run_protoc(*arguments: str) -> None:
    """Run the protoc of grpc_tools; raise SystemExit with its message when it fails."""
    package = importlib.util.find_spec("grpc_tools")
    if package is None or package.origin is None:
        raise SystemExit("grpcio-tools is not installed. Run `make setup`.")
    include = Path(package.origin).parent / "_proto"
    command = [sys.executable, "-m", "grpc_tools.protoc", f"-I{PROTO_DIR}", f"-I{include}", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode != 0:
        raise SystemExit(f"protoc failed: {done.stderr.strip()}\nCorrect the .proto file it names and run again.")


def flatten_imports(source: str) -> str:
    """Point imports of `tierscope.v1` modules at the package in which the generated code lives."""
    return re.sub(r"^from tierscope\.v1 import", f"from {PYTHON_PACKAGE} import", source, flags=re.MULTILINE)


def write_if_changed(path: Path, text: str) -> None:
    """Write `text`, leaving the file's time alone when it is the same already."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def remove_others(directory: Path, *, keep: set[str], pattern: str) -> None:
    """Delete generated files whose source is gone."""
    for path in directory.glob(pattern):
        if path.name not in keep:
            path.unlink()


def write_python() -> None:
    """Write `<noun>_pb2.py` and its type stub for each .proto file."""
    with tempfile.TemporaryDirectory() as scratch:
        run_protoc(f"--python_out={scratch}", f"--pyi_out={scratch}", *proto_files())
        generated = sorted(path for path in Path(scratch).rglob("*") if path.suffix in {".py", ".pyi"})
        for path in generated:
            write_if_changed(PYTHON_OUT / path.name, flatten_imports(path.read_text(encoding="utf-8")))
        names = {path.name for path in generated}
    write_if_changed(PYTHON_OUT / "__init__.py", PACKAGE_DOCSTRING)
    remove_others(PYTHON_OUT, keep=names, pattern="*_pb2.py*")


def write_rust() -> None:
    """Write one prost module per protobuf package, through a descriptor set."""
    with tempfile.TemporaryDirectory() as scratch:
        descriptors = Path(scratch) / "descriptors.bin"
        run_protoc("--include_source_info", f"--descriptor_set_out={descriptors}", *proto_files())
        out = Path(scratch) / "out"
        out.mkdir()
        manifest = RUST_GENERATOR / "Cargo.toml"
        command = ["cargo", "run", "--quiet", "--locked", "--manifest-path", str(manifest), "--", str(descriptors)]
        subprocess.run([*command, str(out)], check=True)  # noqa: S603
        for path in sorted(out.glob("*.rs")):
            write_if_changed(RUST_OUT / path.name, path.read_text(encoding="utf-8"))
        remove_others(RUST_OUT, keep={path.name for path in out.glob("*.rs")}, pattern="tierscope*.rs")


def main(arguments: list[str] | None = None) -> None:
    """Write the halves asked for; both by default."""
    parser = argparse.ArgumentParser(description="Write the code generated from contract/proto.")
    parser.add_argument("--python", action="store_true", help="the Python half alone")
    options = parser.parse_args(arguments)
    write_python()
    if not options.python:
        write_rust()


if __name__ == "__main__":
    main()
