"""Objects as files in a directory."""

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
