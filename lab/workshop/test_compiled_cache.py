"""Runs of continuous integration share what is compiled of the same files, and compile again what differs."""

import fcntl
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from architecture.tree import ROOT

RUSTC = shutil.which("rustc") or Path.home() / ".cargo" / "bin" / "rustc"
pytestmark = pytest.mark.skipif(not Path(RUSTC).exists(), reason="Rust is not installed: https://rustup.rs")

WITHOUT_SETTINGS = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}
_MANIFEST = '[package]\nname = "greeter"\nversion = "0.1.0"\nedition = "2024"\n\n[workspace]\n'
_MAIN = 'mod told;\nfn main() {\n    println!("{} in {}", told::WORD, env!("CARGO_MANIFEST_DIR"));\n}\n'


def git(clone: Path, *words: str) -> str:
    names = {f"GIT_{who}_{what}": "a@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    env = os.environ | names | WITHOUT_SETTINGS
    return subprocess.run(["git", *words], cwd=clone, env=env, capture_output=True, text=True, check=True).stdout


def commit_word(clone: Path, word: str) -> None:
    sources = clone / "collector-agent" / "src"
    (sources / "told.rs").write_text(f'pub const WORD: &str = "{word}";\n', encoding="utf-8")
    git(clone, "add", ".")
    git(clone, "commit", "--quiet", "--message", word)


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A repository with a small program, and the file under test."""
    made = tmp_path / "first"
    (made / "collector-agent" / "src").mkdir(parents=True)
    (made / ".ci").mkdir()
    shutil.copy(ROOT / ".ci" / "compiled.sh", made / ".ci")
    (made / "collector-agent" / "Cargo.toml").write_text(_MANIFEST, encoding="utf-8")
    (made / "collector-agent" / "src" / "main.rs").write_text(_MAIN, encoding="utf-8")
    git(made, "init", "--quiet")
    commit_word(made, "good morning")
    return made


def run(clone: Path, cache: Path, then: str, **more: str) -> str:
    """What a command prints in a clone after `share_compiled`; its other output is shown where it fails."""
    script = f"set -euo pipefail; . .ci/compiled.sh; share_compiled >&2; {then}"
    env = {name: value for name, value in os.environ.items() if name not in ("CARGO_TARGET_DIR", "CARGO_DIR")}
    env |= {"XDG_CACHE_HOME": str(cache), **WITHOUT_SETTINGS, **more}
    done = subprocess.run(["bash", "-c", script], cwd=clone, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def share(clone: Path, cache: Path, **more: str) -> str:
    """What CARGO_TARGET_DIR is afterwards."""
    return run(clone, cache, 'echo "${CARGO_TARGET_DIR:-}"', **more)


def compile_and_say(clone: Path, cache: Path) -> tuple[str, bool]:
    """What the compiled program says, and whether it had to be compiled."""
    build = 'cd "${CARGO_DIR:-collector-agent}"; cargo build --offline --quiet --message-format json; cargo run --quiet'
    *messages, said = run(clone, cache, build).splitlines()
    return said.split(" in ")[0], any('"fresh":false' in message for message in messages)


def test_another_clone_compiles_what_differs_and_nothing_else(clone: Path, tmp_path: Path) -> None:
    assert compile_and_say(clone, tmp_path) == ("good morning", True)
    other = tmp_path / "second"
    git(tmp_path, "clone", "--quiet", str(clone), str(other))
    assert compile_and_say(other, tmp_path) == ("good morning", False)
    commit_word(other, "good evening")
    assert compile_and_say(other, tmp_path) == ("good evening", True)
    # Its files are older than what was compiled of the other clone, and differ.
    assert compile_and_say(clone, tmp_path) == ("good morning", True)
    git(clone, "rm", "--quiet", "collector-agent/src/told.rs")
    git(clone, "commit", "--quiet", "--message", "without")
    with pytest.raises(AssertionError, match="could not compile"):
        compile_and_say(clone, tmp_path)


def test_what_is_not_committed_is_compiled_in_its_own_clone(clone: Path, tmp_path: Path) -> None:
    assert share(clone, tmp_path) != ""
    (clone / "collector-agent" / "src" / "told.rs").write_text('pub const WORD: &str = "hello";\n', encoding="utf-8")
    assert share(clone, tmp_path) == ""
    assert compile_and_say(clone, tmp_path) == ("hello", True)


def test_what_a_run_has_left_beside_the_sources_is_gone_in_the_next(clone: Path, tmp_path: Path) -> None:
    share(clone, tmp_path)
    tree = tmp_path / "tierscope" / "ci" / "tree" / "collector-agent"
    (tree / "build.rs").write_text("fn main() { panic!() }\n", encoding="utf-8")
    (tree / "src" / "told.rs").write_text('pub const WORD: &str = "changed";\n', encoding="utf-8")
    assert compile_and_say(clone, tmp_path) == ("good morning", True)
    assert not (tree / "build.rs").exists()


def test_code_is_kept_for_one_compiler(clone: Path, tmp_path: Path) -> None:
    target = Path(share(clone, tmp_path))
    assert target.parent == tmp_path / "tierscope" / "ci"
    old = target.parent / "rust-of-last-year"
    old.mkdir()
    kept = target / "debug" / ".fingerprint" / "serde-1a" / "lib-serde"
    kept.parent.mkdir(parents=True)
    kept.write_text("0")
    assert Path(share(clone, tmp_path)) == target
    assert kept.exists()
    assert not old.exists()


def test_it_is_made_anew_when_it_has_grown_too_far(clone: Path, tmp_path: Path) -> None:
    target = Path(share(clone, tmp_path))
    (target / "large").write_bytes(b"x" * (2 << 20))
    assert Path(share(clone, tmp_path, TIERSCOPE_CI_CACHE_MIB="1")) == target
    assert list(target.iterdir()) == []


def test_a_second_run_at_the_same_time_and_one_with_a_place_of_its_own_do_without(clone: Path, tmp_path: Path) -> None:
    share(clone, tmp_path)
    with (tmp_path / "tierscope" / "ci" / "lock").open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert share(clone, tmp_path) == ""
    assert share(clone, tmp_path, CARGO_TARGET_DIR="/elsewhere") == "/elsewhere"
