"""No two files of a Rust crate use each other, directly or through others."""

from pathlib import Path

import pytest

from architecture.rust_modules import expand, loops, read_crate
from architecture.tree import ROOT, tracked


def crate_files() -> dict[Path, list[Path]]:
    """Return the files below each `src` folder with Rust, generated ones among them."""
    sources = {Path(*path.parts[: path.parts.index("src") + 1]) for path in tracked(".rs") if "src" in path.parts}
    return {ROOT / source: sorted((ROOT / source).rglob("*.rs")) for source in sources}


def test_no_files_of_a_rust_crate_use_each_other_in_a_circle() -> None:
    crates = crate_files()
    assert len(crates) > 10
    circles = [
        ", ".join(str(file.relative_to(ROOT)) for file in circle)
        for source, files in crates.items()
        for circle in loops(read_crate(source, files))
    ]
    assert circles == []


def test_the_tree_of_a_use_is_every_path_with_its_name() -> None:
    tree = "crate::{a::{self, B as C}, d::*,\n    e}"
    assert {name: path for path, name in expand(tree)} == {
        "a": ("crate", "a"),
        "C": ("crate", "a", "B"),
        "*": ("crate", "d", "*"),
        "e": ("crate", "e"),
    }


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (
            {
                "lib.rs": "mod a;\nmod b;",
                "a.rs": "use crate::b::B;\npub struct A;",
                "b.rs": "fn b(a: crate::a::A) {}\n",
            },
            1,
        ),
        (
            {
                "lib.rs": "mod a;\nmod b;",
                "a.rs": "use crate::b;\nfn a() { b::go() }",
                "b.rs": "use super::a;\npub fn go() { a::a() }",
            },
            1,
        ),
        (
            {
                "lib.rs": "mod a;\npub use a::A;",
                "a.rs": "mod c;\npub use c::C;\npub struct A;",
                "a/c.rs": "use super::A;\npub struct C;",
            },
            0,
        ),
        (
            {
                "lib.rs": "mod a;\nmod b;\npub use a::A;",
                "a.rs": "use crate::b::B;\npub struct A;",
                "b.rs": "use crate::A;\npub struct B;",
            },
            1,
        ),
        ({"lib.rs": "mod a;", "a.rs": "mod c;\nuse c::C;\npub struct A;", "a/c.rs": "use super::A;\npub struct C;"}, 1),
        ({"lib.rs": "mod a;", "a.rs": "pub fn a() {}\n#[cfg(test)]\nmod tests;", "a/tests.rs": "use super::a;"}, 0),
        (
            {
                "lib.rs": "mod a;\nmod b;",
                "a.rs": '// crate::b::B\nconst A: &str = "crate::b::B";',
                "b.rs": "use crate::a::A;\npub struct B;",
            },
            0,
        ),
    ],
)
def test_the_check_finds_circles_and_lets_re_exports_be(texts: dict[str, str], expected: int, tmp_path: Path) -> None:
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert len(loops(read_crate(tmp_path, sorted(tmp_path.rglob("*.rs"))))) == expected
