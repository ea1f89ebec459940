"""Objects as files in a directory."""

import os
from pathlib import Path

from tierscope.core.objects.directory import DirectoryStore


def test_the_last_object_of_a_directory_takes_it_along(tmp_path: Path) -> None:
    store = DirectoryStore(tmp_path)
    for key in ("host=7/day=1/a", "host=7/day=2/b", "host=8/day=1/c"):
        store.put(key, b"x")
    store.delete(["host=7/day=1/a"])
    assert sorted(path.name for path in tmp_path.rglob("*day*")) == ["day=1", "day=2"]
    store.delete(["host=7/day=2/b", "never/was"])
    assert [path.name for path in tmp_path.iterdir()] == ["host=8"]
    store.put("host=7/day=3/d", b"y")
    assert (tmp_path / "host=7" / "day=3" / "d").read_bytes() == b"y"


def test_who_may_enter_the_directory_may_read_what_is_in_it(tmp_path: Path) -> None:
    root = tmp_path / "shared"
    root.mkdir()
    root.chmod(0o750)
    (tmp_path / "named").symlink_to(root)
    before = os.umask(0o077)
    try:
        DirectoryStore(tmp_path / "named").put("kind/day=1/a", b"text")
    finally:
        os.umask(before)
    modes = {path.name: path.stat().st_mode & 0o777 for path in root.rglob("*")}
    assert [found.key for found in DirectoryStore(tmp_path / "named").list("")] == ["kind/day=1/a"]
    assert modes == {"kind": 0o750, "day=1": 0o750, "a": 0o640}
