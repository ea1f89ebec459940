"""Images are built from a clean tree: what the Dockerfile takes is there, or an earlier stage makes it."""

import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
import yaml

from architecture.tree import ROOT

FOLDER = ROOT / "deploy" / "docker"
SCRIPTS = ROOT / "deploy" / "dist"
IMAGES = ("service", "agent", "database", "queue")
_VERB = re.compile(r"^([a-z0-9-]+):", re.MULTILINE)
_PATH = re.compile(r"[\w.-]+(?:/[\w.-]+)*")


@dataclass
class Stage:
    """A stage of a Dockerfile: its name, what it stands on, and its instructions with their words."""

    name: str
    base: str
    instructions: list[tuple[str, str]] = field(default_factory=list)

    def said(self, instruction: str) -> Iterator[str]:
        """What follows each instruction of a kind."""
        return (text for found, text in self.instructions if found == instruction)

    def taken(self) -> Iterator[tuple[str, str]]:
        """What COPY and bind mounts take: the stage, or nothing for the context, and the path."""
        for text in self.said("COPY"):
            words = text.split()
            options = dict(word[2:].split("=", 1) for word in words if word.startswith("--"))
            for path in [word for word in words if not word.startswith("--")][:-1]:
                yield options.get("from", ""), path
        for text in self.said("RUN"):
            for mount in re.findall(r"--mount=(\S+)", text):
                options = dict(part.split("=", 1) for part in mount.split(",") if "=" in part)
                if options.get("type", "bind") == "bind":
                    yield options.get("from", ""), options.get("source", "/")


@dataclass
class Dockerfile:
    """The arguments before the first stage, and the stages."""

    arguments: dict[str, str]
    stages: list[Stage]


def read(path: Path) -> Dockerfile:
    """Read a Dockerfile as far as this project writes them."""
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if not line.lstrip().startswith("#")]
    found = Dockerfile({}, [])
    for line in "\n".join(lines).replace("\\\n", " ").splitlines():
        instruction, _, text = line.strip().partition(" ")
        if instruction == "FROM":
            base, _, name = text.partition(" AS ")
            found.stages.append(Stage(name, base))
        elif found.stages and instruction:
            found.stages[-1].instructions.append((instruction, text))
        elif instruction == "ARG":
            name, _, value = text.partition("=")
            found.arguments[name] = value
    return found


DOCKERFILES = {path.name: read(path) for path in sorted(FOLDER.glob("*Dockerfile"))}
STAGES = {stage.name: stage for found in DOCKERFILES.values() for stage in found.stages}


def rules() -> list[tuple[bool, re.Pattern[str]]]:
    """The lines of .dockerignore: whether each takes in or leaves out, and what it matches, or what lies below that."""
    found = []
    for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            pattern = re.escape(line.removeprefix("!"))
            pattern = pattern.replace(r"\*\*/", "(?:.*/)?").replace(r"\*", "[^/]*")
            found.append((line.startswith("!"), re.compile(rf"{pattern}(?:/.*)?")))
    return found


RULES = rules()


def reaches_the_context(path: str) -> bool:
    """Whether a file is sent to whatever builds: the last line that matches decides."""
    matching = (is_in for is_in, pattern in reversed(RULES) if pattern.fullmatch(path))
    return next(matching, True)


def with_folders(files: set[str]) -> set[str]:
    """Files, and the folders that they lie in."""
    return files | {str(parent) for path in files for parent in PurePosixPath(path).parents}


_LISTED = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
FILES = set(subprocess.run(_LISTED, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines())
TREE = with_folders(FILES)
CONTEXT = with_folders({path for path in FILES if reaches_the_context(path)})


def is_in_the_context(path: str) -> bool:
    """Whether a clean tree has a file or folder that is sent."""
    return str(PurePosixPath(path)) in CONTEXT


@pytest.fixture(scope="module")
def built() -> dict[str, dict[str, Any]]:
    """What docker-compose.yml builds, by the image that it names."""
    services = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))["services"]
    return {service["image"]: service["build"] for service in services.values()}


@pytest.mark.parametrize("name", DOCKERFILES)
def test_all_that_is_taken_is_in_a_clean_tree_or_made_by_an_earlier_stage(name: str) -> None:
    earlier: set[str] = set()
    for stage in DOCKERFILES[name].stages:
        for source, path in stage.taken():
            if source:
                assert source in earlier, f"{stage.name} takes {path} of {source}"
            else:
                assert is_in_the_context(path), f"{stage.name} takes {path}"
        assert stage.base in ("${BASE}", "scratch") or stage.base in earlier
        earlier.add(stage.name)


def test_each_image_stands_on_one_base_and_runs_without_root(built: dict[str, dict[str, Any]]) -> None:
    bases = {found.arguments["BASE"] for found in DOCKERFILES.values()}
    bases |= {re.sub(r"\$\{BASE_IMAGE:-(.*)\}", r"\1", build["args"]["BASE"]) for build in built.values()}
    assert len(bases) == 1
    for name in IMAGES:
        (user,) = STAGES[name].said("USER")
        assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", user), name


def test_compose_and_releases_build_the_same_images(built: dict[str, dict[str, Any]]) -> None:
    script = (SCRIPTS / "images.sh").read_text(encoding="utf-8")
    made = re.search(r"set -- (.*)$", script, re.MULTILINE)
    assert made is not None
    assert tuple(made[1].split()) == IMAGES
    assert set(built) == {f"tierscope/{name}:${{TIERSCOPE_VERSION:-local}}" for name in IMAGES if name != "agent"}
    for image, build in built.items():
        assert (build["context"], build["dockerfile"]) == (".", "deploy/docker/Dockerfile")
        assert f"tierscope/{build['target']}:" in image
    # Its own packages take the place of a stage that no image would be without.
    replaced = re.findall(r"--build-context \"(\w+)=", script)
    assert [STAGES[name].base for name in replaced] == ["scratch"]


def test_packages_of_a_tree_are_made_by_the_scripts_of_a_release() -> None:
    verbs = set(_VERB.findall((ROOT / "Makefile").read_text(encoding="utf-8")))
    run = " && ".join(STAGES["made"].said("RUN")).split("&&")
    called = [words for words in map(str.split, run) if words[0] == "make" or words[0].startswith("deploy/")]
    assert called
    for program, *words in called:
        if program == "make":
            assert set(words) <= verbs
        else:
            assert program in CONTEXT
            assert os.access(ROOT / program, os.X_OK)
    packed = {program: words for program, *words in called}["deploy/dist/packages.sh"]
    parts = re.search(r'wanted=" \$\{\*:-(.*)\} "', (SCRIPTS / "packages.sh").read_text(encoding="utf-8"))
    assert parts is not None
    assert set(packed) <= set(parts[1].split())


def test_all_that_those_scripts_name_of_the_tree_is_sent() -> None:
    left = ("images.sh", "before.sh", "base.sh", "chart.sh")
    readers = [path for path in SCRIPTS.glob("*.sh") if path.name not in left]
    readers += [ROOT / "hatch_build.py", *(ROOT / "deploy" / "packages").glob("*.yaml")]
    found = {word for path in readers for word in _PATH.findall(path.read_text(encoding="utf-8")) if word in TREE}
    assert {"requirements-runtime.lock", "deploy/dist/tools.lock", "migrations", "LICENSE"} <= found
    assert sorted(path for path in found if not is_in_the_context(path)) == []


def test_nothing_that_git_ignores_is_sent() -> None:
    """Neither what was built, nor passwords; nor the history, which is larger than the tree."""
    patterns = (ROOT / ".gitignore").read_text(encoding="utf-8").split()
    for pattern in [*patterns, "/.git/"]:
        path = pattern.replace("**/", "").replace("*", "x") + ("x" if pattern.endswith("/") else "")
        places = [path[1:]] if path.startswith("/") else [path, f"frontend/{path}", f"backend/tierscope/{path}"]
        assert [place for place in places if reaches_the_context(place)] == []


def test_the_rules_of_the_context_are_read_as_a_builder_reads_them() -> None:
    assert reaches_the_context("deploy/docker/database-entrypoint.sh")
    assert reaches_the_context("frontend/src/lib/target.ts")
    assert not reaches_the_context("tests/architecture/tree.py")
    assert not reaches_the_context("frontend/node_modules/a/b.py")
    assert not reaches_the_context("collector-agent/target/release/a")
