"""Links within the documentation lead somewhere: to a file that is kept, and to a heading that it has."""

from pathlib import Path
from urllib.parse import unquote

from architecture.tree import ROOT
from docs.pages import Link, anchors, links, pages, read


def broken(link: Link) -> str | None:
    """Return what is wrong with a link; None if it leads to a file, a heading, or elsewhere."""
    if "://" in link.target or link.target.startswith("mailto:"):
        return None
    name, _, anchor = unquote(link.target).partition("#")
    path = ((ROOT / link.page).parent / name).resolve() if name else ROOT / link.page
    where = f"{link.page}:{link.line}: {link.target}"
    if not path.is_relative_to(ROOT) or not path.exists():
        return f"{where}: there is no such file"
    if anchor and path.suffix == ".md" and anchor not in anchors(path.read_text(encoding="utf-8")):
        return f"{where}: there is no such heading"
    return None


def test_every_link_leads_somewhere() -> None:
    found = [broken(link) for page in pages() for link in links(page, read(page))]
    assert len(found) > 250
    assert [fault for fault in found if fault] == []


def test_the_check_finds_a_missing_file_and_a_missing_heading() -> None:
    text = "# Here\n\n[a](nowhere.md) [b](#there) ![c](none.png) [d](#here) [e](https://example.com) [f](a%20b)\n"
    found = [broken(link) for link in links(Path("docs/README.md"), text)]
    assert [bool(fault) for fault in found] == [True, True, True, True, False, True]


def test_anchors_are_those_of_github() -> None:
    assert anchors("# What it `does`, and why\n\ntext\n\n## A-B_c: d\n") == {"what-it-does-and-why", "a-b_c-d"}
