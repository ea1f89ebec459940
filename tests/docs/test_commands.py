"""Every block of commands in the documentation is run, against an installation with data, or says why not.

The blocks of a page are run in order in one shell, as a reader would, in a folder with the files that the page shows
(`<!-- file: NAME -->`) and those of `FILES`. What readers replace is replaced: addresses, tokens, ids in capitals.
"""

import ast
import inspect
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from architecture.tree import ROOT
from docs.pages import COMMANDS, Block, blocks, pages, read
from factories.experiments import make_fleet
from factories.populated import Populated, populated_service
from fixtures.elsewhere import long
from fixtures.environments import index_is_away, install_there, make_environment
from fixtures.servers import Template
from tierscope.cli.base.source_tree import find_agent
from tierscope_client import Client

READERS: dict[str, Callable[[str], object]] = {"json": json.loads, "yaml": yaml.safe_load, "toml": tomllib.loads}
LANGUAGES = {*COMMANDS, *READERS, "sql", "text"}
HOSTS = 10
LIMIT_SECONDS = 300
ADDRESSES = ("http://127.0.0.1:8480", "https://tierscope.example.org", "https://tierscope.example")
NOTEBOOKS = ROOT / "docs" / "notebooks"
FILES = {
    "trace.parquet": "tests/data/page-traces/sqlite.parquet",
    "lab": "tests/data/kernel-lab/04-pingpong.tar.zst",
    "perf.data": "tests/data/perf/page-faults.perf.data",
    "half-reused.yaml": "docs/examples/half-reused.yaml",
}
"""What the reader has: names in the commands, and the files of the repository that stand for them."""
_COMMAND = re.compile(r"\s*(sudo|tierscope(-\w+)?|curl|make|docker|kubectl|cargo|npm|\.?/?\.venv\S*) ")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:")
_BEGUN = "docs-block "

ALL = {page: list(blocks(page, read(page))) for page in pages()}
DATA = [block for found in ALL.values() for block in found if block.language in READERS and block.not_run is None]
LONG_PAGES = (
    "docs/howto/experiment.md",
    "docs/howto/login.md",
    "docs/method/swap-devices.md",
    "docs/operating/install.md",
)
"""Pages whose commands wait for minutes of data, or for what they start."""
RUN = [page for page, found in ALL.items() if any(block.is_run for block in found)]


@dataclass(frozen=True, slots=True)
class Service:
    """An installation that answers: its address, its database, and what is in it."""

    url: str
    database_url: str
    made: Populated


@pytest.fixture(scope="module")
def service(template: Template, storage_mode: str) -> Iterator[Service]:
    with populated_service(template, storage_mode) as (client, database, made):
        # Of three hours the later half would hold no whole one once the clock has gone into another hour.
        make_fleet(database, HOSTS, hours=6)
        yield Service(str(client.base_url).rstrip("/"), database.url, made)


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """A folder with the agent's program, where it is built."""
    folder = tmp_path / "bin"
    folder.mkdir()
    agent = find_agent()
    if agent is not None:
        (folder / "tierscope-agent").symlink_to(agent)
    return folder


def replaced(text: str, url: str, ids: Mapping[str, list[str]]) -> str:
    """Put in what a reader would: the address of the service for those of examples, ids for names in capitals."""
    for address in ADDRESSES:
        text = text.replace(address, url)
    for name, values in ids.items():
        text = re.sub(rf"\b{name.upper()}\b", values[0], text)
    return text


def script_of(page_blocks: list[Block]) -> str:
    """Return the shell script of a page: each block says where it stands before it begins."""
    lines = ["set -euo pipefail"]
    for block in page_blocks:
        text = block.text if block.language == "sh" else f"python - <<'END-OF-BLOCK'\n{block.text}END-OF-BLOCK\n"
        lines += [f"echo {shlex.quote(_BEGUN + block.place)} >&2", text]
    return "\n".join(lines)


def fault_of(script: str, folder: Path, environment: Mapping[str, str]) -> str | None:
    """Run a script; return where it failed and what it said, None if all of it ended well."""
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=folder,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LIMIT_SECONDS,
        check=False,
    )
    if done.returncode == 0:
        return None
    *_, last = done.stderr.split(_BEGUN)
    return f"status {done.returncode} at {last}\n{done.stdout[-2000:]}"


def environment_of(service: Service, folder: Path, programs: Path) -> dict[str, str]:
    """What the shell of a reader holds who has logged in to the service."""
    (folder / ".curlrc").write_text("fail-with-body\nshow-error\nsilent\n", encoding="utf-8")
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TIERSCOPE_")}
    return {
        **kept,
        "PATH": f"{programs}:{Path(sys.executable).parent}:{os.environ['PATH']}",
        "CURL_HOME": str(folder),
        "TIERSCOPE_DATABASE_URL": service.database_url,
        "TIERSCOPE_DATA_DIR": str(folder / "data"),
        "TIERSCOPE_CONFIG": "/nonexistent",
        "TIERSCOPE_URL": service.url,
        "TIERSCOPE_TOKEN": service.made.token,
        "URL": service.url,
        "TOKEN": service.made.token,
        "AUTH": f"Authorization: Bearer {service.made.token}",
    }


@pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
@pytest.mark.parametrize(
    "page", [pytest.param(page, marks=long if str(page) in LONG_PAGES else ()) for page in RUN], ids=str
)
def test_the_commands_of_a_page_do_what_it_says(page: Path, service: Service, programs: Path, tmp_path: Path) -> None:
    wanted = [block for block in ALL[page] if block.is_run]
    script = replaced(script_of(wanted), service.url, service.made.ids).replace("tsa_...", service.made.token)
    if "tierscope-agent" in script and not (programs / "tierscope-agent").exists():
        pytest.skip("the agent's program is not built: run `make agent`")
    for name, source in FILES.items():
        if name in script:
            shutil.copy(ROOT / source, tmp_path / name)
    for block in ALL[page]:
        if block.file is not None:
            (tmp_path / block.file).write_text(replaced(block.text, service.url, service.made.ids), encoding="utf-8")
    assert fault_of(script, tmp_path, environment_of(service, tmp_path, programs)) is None


@pytest.fixture(scope="module")
def empty_environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment with the client, and with what notebooks need besides, as their lock says."""
    folder = tmp_path_factory.mktemp("notebooks") / "environment"
    python = make_environment(folder)
    install_there(python, "--only-binary=:all:", "--require-hashes", "-r", NOTEBOOKS / "requirements.lock")
    # A build writes beside its source.
    copied = shutil.copytree(ROOT / "backend" / "tierscope_client", folder.parent / "client")
    install_there(python, "--no-deps", copied)
    return python


@pytest.mark.elsewhere("make nightly")  # to install what it needs takes three times as long as to run it
@pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
@pytest.mark.parametrize("notebook", sorted(NOTEBOOKS.glob("*.ipynb")), ids=lambda path: path.stem)
def test_a_notebook_runs_from_an_empty_environment_and_decides(
    notebook: Path, service: Service, empty_environment: Path, tmp_path: Path
) -> None:
    ran = tmp_path / notebook.name
    done = subprocess.run(
        [empty_environment, NOTEBOOKS / "run.py", notebook, ran],
        env={"TIERSCOPE_URL": service.url, "TIERSCOPE_TOKEN": service.made.token, "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=LIMIT_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    *_, decided = printed(ran)
    assert re.match(r"Data (mixed|measured|simulated)\. (Move \S+ first, to \d:\d|Move none yet)", decided), decided


@pytest.mark.parametrize("notebook", sorted(NOTEBOOKS.glob("*.ipynb")), ids=lambda path: path.stem)
def test_a_notebook_asks_what_the_client_answers(notebook: Path) -> None:
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    tree = ast.parse("\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"))
    calls = [call for call in ast.walk(tree) if isinstance(call, ast.Call)]
    asked = {call: call.func.attr for call in calls if isinstance(call.func, ast.Attribute) and is_client(call.func)}
    assert len(asked) >= 4
    for call, name in asked.items():
        named = {word.arg: None for word in call.keywords if word.arg is not None}
        inspect.signature(getattr(Client, name)).bind(None, *call.args, **named)


def is_client(method: ast.Attribute) -> bool:
    return isinstance(method.value, ast.Name) and method.value.id == "client"


@pytest.mark.parametrize("notebook", sorted(NOTEBOOKS.glob("*.ipynb")), ids=lambda path: path.stem)
def test_a_notebook_shows_what_it_printed_on_the_demonstration_and_that_it_is_simulated(notebook: Path) -> None:
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    assert all(cell["outputs"] for cell in cells[2:] if cell["cell_type"] == "code")
    *shown, decided = printed(notebook)
    assert "simulated" in shown[0]
    assert decided.startswith("Data simulated. Move ")


def printed(notebook: Path) -> list[str]:
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    streams = [[one for one in cell.get("outputs", ()) if one["output_type"] == "stream"] for cell in cells]
    return ["".join(text for one in some for text in one["text"]) for some in streams if some]


@pytest.mark.parametrize("page", RUN, ids=str)
def test_no_command_names_a_moment_that_passes(page: Path) -> None:
    named = [block.text for block in ALL[page] if block.is_run and _MOMENT.search(block.text)]
    assert named == [], "reckon it from now, as with `date -u -d '+8 hours'`"


def faults_of(block: Block) -> Iterator[str]:
    """What keeps a block from being checked."""
    if block.language not in LANGUAGES:
        yield f"{block.place}: say its language, one of {', '.join(sorted(LANGUAGES))}"
    if block.language == "text" and _COMMAND.match(block.text):
        yield f"{block.place}: commands are a block of their own, `sh`"
    if block.not_run is not None and len(block.not_run.split()) < 3:
        yield f"{block.place}: a reader of the page's source wants to know why it is not run"


def test_every_block_is_run_or_says_why_not() -> None:
    found = [fault for page_blocks in ALL.values() for block in page_blocks for fault in faults_of(block)]
    assert found == []
    assert sum(block.is_run for page_blocks in ALL.values() for block in page_blocks) > 20


@pytest.mark.parametrize("block", DATA, ids=lambda block: block.place)
def test_examples_of_files_can_be_read(block: Block) -> None:
    READERS[block.language](block.text)


@pytest.mark.parametrize(
    ("said", "away"),
    [
        ("WARNING: connection broken by 'NewConnectionError'\nERROR: No matching distribution found for httpx", True),
        ("ReadTimeoutError: HTTPSConnectionPool(host='files.example'): Read timed out.", True),
        ("ERROR: No matching distribution found for httpx==99", False),
        ("ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE", False),
    ],
)
def test_only_an_index_that_does_not_answer_keeps_notebooks_from_running(said: str, away: bool) -> None:  # noqa: FBT001
    assert index_is_away(said) is away


def test_a_block_that_fails_is_named_and_later_ones_wait(tmp_path: Path) -> None:
    text = "```sh\ntrue\n```\n\n1. a\n\n   ```sh\n   echo out; false\n   ```\n\n```sh\ntouch later\n```\n"
    found = list(blocks(Path("docs/a.md"), text))
    fault = fault_of(script_of(found), tmp_path, os.environ)
    assert fault is not None
    assert fault.startswith("status 1 at docs/a.md:7")
    assert "out" in fault
    assert not (tmp_path / "later").exists()


def test_the_check_finds_blocks_without_language_hidden_commands_and_bare_markers() -> None:
    text = "```\na\n```\n\n```text\ntierscope up \n```\n\n<!-- not run: no -->\n```sh\na\n```\n"
    found = [list(faults_of(block)) for block in blocks(Path("docs/a.md"), text)]
    assert [len(faults) for faults in found] == [1, 1, 1]


def test_what_is_said_of_a_block_ends_with_it() -> None:
    text = "<!-- not run: needs a VM -->\n```sh\na\n```\n\n```sh\nb\n```\n\n<!-- file: a.json -->\n```json\n{}\n```\n"
    found = list(blocks(Path("docs/a.md"), text))
    assert [(block.is_run, block.not_run, block.file) for block in found] == [
        (False, "needs a VM", None),
        (True, None, None),
        (False, None, "a.json"),
    ]
