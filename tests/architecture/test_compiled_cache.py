"""Runs of continuous integration share what is compiled of others, never what is compiled of this repository."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from architecture.tree import ROOT

pytestmark = pytest.mark.skipif(
    shutil.which("rustc") is None and not (Path.home() / ".cargo" / "bin" / "rustc").exists(),
    reason="Rust is not installed: https://rustup.rs",
)


def share(cache: Path, **more: str) -> str:
    """What CARGO_TARGET_DIR is afterwards."""
    # The compiler is asked from the checkout, as CI does.
    script = 'set -euo pipefail; . .ci/compiled.sh; share_compiled >&2; echo "${CARGO_TARGET_DIR:-}"'
    env = {name: value for name, value in os.environ.items() if name != "CARGO_TARGET_DIR"}
    env |= {"XDG_CACHE_HOME": str(cache), **more}
    done = subprocess.run(["bash", "-c", script], cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_what_is_compiled_of_others_is_kept_for_one_compiler(tmp_path: Path) -> None:
    target = Path(share(tmp_path))
    assert target.parent == tmp_path / "tierscope" / "ci"
    old = target.parent / "rust-of-last-year"
    old.mkdir()
    kept = target / "debug" / ".fingerprint" / "serde-1a" / "lib-serde"
    own = target / "x" / "release" / ".fingerprint" / "tierscope-sample-2b" / "lib-tierscope_sample"
    for file in (kept, own):
        file.parent.mkdir(parents=True)
        file.write_text("0")
    assert Path(share(tmp_path)) == target
    assert kept.exists()
    assert not own.parent.exists()
    assert not old.exists()


def test_it_is_made_anew_when_it_has_grown_too_far(tmp_path: Path) -> None:
    target = Path(share(tmp_path))
    (target / "large").write_bytes(b"x" * (2 << 20))
    assert Path(share(tmp_path, TIERSCOPE_CI_CACHE_MIB="1")) == target
    assert list(target.iterdir()) == []


def test_a_second_run_at_the_same_time_and_one_with_a_place_of_its_own_do_without(tmp_path: Path) -> None:
    share(tmp_path)
    with (tmp_path / "tierscope" / "ci" / "lock").open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert share(tmp_path) == ""
    assert share(tmp_path, CARGO_TARGET_DIR="/elsewhere") == "/elsewhere"
