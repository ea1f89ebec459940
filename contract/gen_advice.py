"""Write the charters of advice for the service, the agent and the documentation, from contract/advice.

    .venv/bin/python contract/gen_advice.py

contract/advice/README.md says what the keys mean. A charter that breaks a rule ends the run with its name and what to
change; one without a must-not list does.
"""

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gen_proto import write_if_changed

ROOT = Path(__file__).resolve().parent.parent
CHARTERS = ROOT / "contract" / "advice"
PYTHON_OUT = ROOT / "backend" / "tierscope" / "domain" / "_generated" / "advice.py"
RUST_OUT = ROOT / "collector-agent" / "crates" / "sample" / "src" / "_generated" / "advice.rs"
PAGE = ROOT / "docs" / "method" / "knobs.md"

MARK = "`contract/gen_advice.py` from `contract/advice`"
TABLE = ("<!-- rules: begin, from contract/advice -->", "<!-- rules: end -->")
DETAILS = ("<!-- charters: begin, from contract/advice -->", "<!-- charters: end -->")
THEN = ("silent", "name")
KINDS = ("kernel", "documentation", "paper", "report")
RELEASE = re.compile(r"([1-9][0-9]*\.[0-9]+)?")
TEXTS = ("title", "together_why", "kernel", "holds", "fires", "proposes", "effect", "measure")
SHARED = ("says", "fix")
"""Texts of rules without settings, which `doctor` and the service say alike."""
LISTS = ("settings", "together", "must", "harm", "doctor")
KEYS = frozenset({*TEXTS, *LISTS, "order", "must_not", "source"})
HAZARD_KEYS = frozenset({"says", "seen", "sources", "from_kernel", "before_kernel", "unsure_kernel"})
KEEPING = ("sysctl", "tmpfiles", "udev", "systemd")


class CharterError(Exception):
    """A charter breaks a rule; the text says which and what to change."""


@dataclass(frozen=True, slots=True)
class Hazard:
    """A condition under which advice does harm, on kernels from `from_kernel` to before `before_kernel`.

    From `unsure_kernel` on it is not known whether it is still there.
    """

    name: str
    says: str
    seen: str
    from_kernel: str
    before_kernel: str
    unsure_kernel: str
    sources: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Charter:
    """One rule. `must_not` pairs a hazard with what follows, `sources` a kind with what is cited."""

    rule: str
    order: int
    texts: Mapping[str, str]
    lists: Mapping[str, tuple[str, ...]]
    must_not: tuple[tuple[str, str], ...]
    sources: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Advice:
    """All of contract/advice; `keeping` has the path of a file by its form."""

    charters: tuple[Charter, ...]
    hazards: tuple[Hazard, ...]
    keeping: Mapping[str, str]


def parse_hazard(name: str, entry: Mapping[str, object]) -> Hazard:
    """Check one hazard. Raises CharterError."""
    sources = entry.get("sources")
    if set(entry) - HAZARD_KEYS or "seen" not in entry or not isinstance(sources, list) or not sources:
        raise CharterError(f"hazard {name}: `says`, `seen` and `sources` are needed, kernels may stand beside them.")
    if not str(entry.get("says", "")).endswith("."):
        raise CharterError(f"hazard {name}: `says` must be whole sentences.")
    begin, end, unsure = (str(entry.get(key, "")) for key in ("from_kernel", "before_kernel", "unsure_kernel"))
    if any(RELEASE.fullmatch(release) is None for release in (begin, end, unsure)):
        raise CharterError(f"hazard {name}: a kernel is a mainline release, such as 6.16.")
    return Hazard(name, str(entry["says"]), str(entry["seen"]), begin, end, unsure, tuple(map(str, sources)))


def parse_charter(rule: str, entry: Mapping[str, object], hazards: Sequence[str]) -> Charter:
    """Check one charter. Raises CharterError."""
    if set(entry) - set(SHARED) != KEYS:
        raise CharterError(f"{rule}: keys differ: {', '.join(sorted((set(entry) - set(SHARED)) ^ KEYS))}.")
    order, must_not, sources = entry["order"], entry["must_not"], entry["source"]
    if not isinstance(order, int) or not isinstance(must_not, dict) or not isinstance(sources, list):
        raise CharterError(f"{rule}: `order` is a number, `must_not` a table and `source` a list of tables.")
    if not must_not or not sources:
        raise CharterError(f"{rule}: a rule says when it must not be given (`must_not`), and names its sources.")
    for hazard, then in must_not.items():
        if hazard not in hazards or then not in THEN:
            raise CharterError(f"{rule}: must_not.{hazard} is no hazard of hazards.toml, or not one of {THEN}.")
    if any(set(source) != {"kind", "cite"} or source["kind"] not in KINDS for source in sources):
        raise CharterError(f"{rule}: a source has `cite` and a `kind` of {', '.join(KINDS)}.")
    texts = {key: str(entry[key]) for key in TEXTS} | {key: str(entry.get(key, "")) for key in SHARED}
    lists = {key: tuple(map(str, entry[key])) for key in LISTS}  # type: ignore[call-overload]  # checked as they are used
    if not texts["measure"].endswith(".") or not lists["must"] or not lists["harm"]:
        raise CharterError(f"{rule}: `must`, `harm` and a `measure` in whole sentences are needed.")
    if bool(lists["together"]) and not texts["together_why"]:
        raise CharterError(f"{rule}: `together_why` says why rules belong together.")
    if RELEASE.fullmatch(texts["kernel"]) is None:
        raise CharterError(f"{rule}: a kernel is a mainline release, such as 6.16.")
    return Charter(
        rule, order, texts, lists, tuple(must_not.items()), tuple((one["kind"], one["cite"]) for one in sources)
    )


def load(folder: Path = CHARTERS) -> Advice:
    """Return all charters by their order. Raises CharterError."""

    def read(path: Path) -> dict[str, object]:
        return tomllib.loads(path.read_text(encoding="utf-8"))

    hazards = tuple(
        parse_hazard(name, entry)  # type: ignore[arg-type]  # tables of a TOML file
        for name, entry in read(folder / "hazards.toml").items()
    )
    keeping = {key: str(value) for key, value in read(folder / "keeping.toml").items()}
    if tuple(keeping) != KEEPING:
        raise CharterError(f"keeping.toml: its keys are {', '.join(KEEPING)}.")
    names = [hazard.name for hazard in hazards]
    others = ("hazards.toml", "keeping.toml")
    found = [parse_charter(path.stem, read(path), names) for path in folder.glob("*.toml") if path.name not in others]
    charters = tuple(sorted(found, key=lambda charter: charter.order))
    rules = {charter.rule for charter in charters}
    for charter in charters:
        if not set(charter.lists["together"]) <= rules:
            raise CharterError(f"{charter.rule}: `together` names a rule that has no charter.")
    if len({charter.order for charter in charters}) < len(charters):
        raise CharterError("two rules have one `order`.")
    unused = set(names) - {name for charter in charters for name, _ in charter.must_not}
    if unused:
        raise CharterError(f"no rule names the hazards {', '.join(sorted(unused))}.")
    return Advice(charters, hazards, keeping)


def _quoted(values: Sequence[str]) -> str:
    return "".join(f"{_text(value)}, " for value in values)


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)


PYTHON_HEAD = f'''"""Charters of advice; written by {MARK}."""

from dataclasses import dataclass
from typing import Literal

Then = Literal["silent", "name"]


@dataclass(frozen=True, slots=True)
class Hazard:
    """A condition under which advice does harm, on mainline kernels from one release to before another.

    From `unsure_kernel` on it is not known whether it is still there.
    """

    name: str
    says: str
    seen: str
    from_kernel: str
    before_kernel: str
    unsure_kernel: str
    sources: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Charter:
    """A rule: where it holds, what it may harm, and what forbids it. Keys as in contract/advice/README.md."""

    rule: str
    title: str
    order: int
    settings: tuple[str, ...]
    together: tuple[str, ...]
    together_why: str
    kernel: str
    holds: str
    must: tuple[str, ...]
    must_not: dict[str, Then]
    harm: tuple[str, ...]
    measure: str
    doctor: tuple[str, ...]
    says: str
    fix: str
    sources: tuple[tuple[str, str], ...]


'''


def python_text(advice: Advice) -> str:
    """Return the module that the service imports."""
    rows = "\n".join(f"        {_python_charter(one)}," for one in advice.charters)
    hazards = "\n".join(f"        {_python_hazard(one)}," for one in advice.hazards)
    keeping = "\n".join(f"KEEP_{key.upper()} = {_text(path)}" for key, path in advice.keeping.items())
    return f'''{PYTHON_HEAD}CHARTERS: dict[str, Charter] = {{
    one.rule: one
    for one in (
{rows}
    )
}}
"""By rule, in the order in which to try them."""

HAZARDS: dict[str, Hazard] = {{
    one.name: one
    for one in (
{hazards}
    )
}}
"""By name."""

{keeping}
'''


def _python_charter(one: Charter) -> str:
    texts, lists = one.texts, one.lists
    fields = (
        _text(one.rule),
        _text(texts["title"]),
        str(one.order),
        f"({_quoted(lists['settings'])})",
        f"({_quoted(lists['together'])})",
        _text(texts["together_why"]),
        _text(texts["kernel"]),
        _text(texts["holds"]),
        f"({_quoted(lists['must'])})",
        "{" + ", ".join(f"{_text(name)}: {_text(then)}" for name, then in one.must_not) + "}",
        f"({_quoted(lists['harm'])})",
        _text(texts["measure"]),
        f"({_quoted(lists['doctor'])})",
        *(_text(texts[key]) for key in SHARED),
        "(" + "".join(f"({_text(kind)}, {_text(cite)}), " for kind, cite in one.sources) + ")",
    )
    return f"Charter({', '.join(fields)})"


def _python_hazard(one: Hazard) -> str:
    texts = (one.name, one.says, one.seen, one.from_kernel, one.before_kernel, one.unsure_kernel)
    return f"Hazard({_quoted(texts)}({_quoted(one.sources)}))"


def rust_text(advice: Advice) -> str:
    """Return the module that the agent compiles."""
    charters = "\n".join(_rust_charter(one) for one in advice.charters)
    hazards = "\n".join(_rust_hazard(one) for one in advice.hazards)
    keeping = "\n".join(
        f"/// The file that keeps settings over a reboot, in the form of {key}.\n"
        f"pub const KEEP_{key.upper()}: &str = {_text(path)};"
        for key, path in advice.keeping.items()
    )
    return f"""//! Charters of advice. Written by {MARK}.

use crate::charter::{{Charter, Hazard, Then}};

/// All rules, in the order in which to try them.
#[rustfmt::skip]
pub const CHARTERS: &[Charter] = &[
{charters}
];

/// Conditions under which advice does harm.
#[rustfmt::skip]
pub const HAZARDS: &[Hazard] = &[
{hazards}
];

{keeping}
"""


def _rust_charter(one: Charter) -> str:
    def texts(key: str) -> str:
        return f"&[{', '.join(map(_text, one.lists[key]))}]"

    must_not = ", ".join(f"({_text(name)}, Then::{then.capitalize()})" for name, then in one.must_not)
    sources = ", ".join(_text(cite) for _, cite in one.sources)
    return f"""    Charter {{
        rule: {_text(one.rule)},
        title: {_text(one.texts["title"])},
        order: {one.order},
        settings: {texts("settings")},
        together: {texts("together")},
        together_why: {_text(one.texts["together_why"])},
        kernel: {_text(one.texts["kernel"])},
        must: {texts("must")},
        must_not: &[{must_not}],
        harm: {texts("harm")},
        measure: {_text(one.texts["measure"])},
        doctor: {texts("doctor")},
        says: {_text(one.texts["says"])},
        fix: {_text(one.texts["fix"])},
        sources: &[{sources}],
    }},"""


def _rust_hazard(one: Hazard) -> str:
    return f"""    Hazard {{
        name: {_text(one.name)},
        says: {_text(one.says)},
        from_kernel: {_text(one.from_kernel)},
        before_kernel: {_text(one.before_kernel)},
        unsure_kernel: {_text(one.unsure_kernel)},
        sources: &[{", ".join(map(_text, one.sources))}],
    }},"""


def page_text(advice: Advice, page: str) -> str:
    """Return the page of the method with both generated parts between their marks."""
    rows = ["| Rule | Fires when | Proposes | Expected effect |", "|---|---|---|---|"]
    for one in advice.charters:
        name = one.rule if one.rule[0] == "F" else f"`{one.rule}`"
        rows.append(f"| {name} | {one.texts['fires']} | {one.texts['proposes']} | {one.texts['effect']} |")
    details = [line for one in advice.charters for line in _details(one)]
    details += ["### Hazards", "", "| Hazard | What it is | Kernels | Seen by | Sources |", "|---|---|---|---|---|"]
    details += [
        f"| `{one.name}` | {one.says} | {_range(one)} | {one.seen or 'not collected'} | {'; '.join(one.sources)} |"
        for one in advice.hazards
    ]
    page = _between(page, TABLE, "\n".join(rows))
    return _between(page, DETAILS, "\n".join(details))


def _between(page: str, marks: tuple[str, str], text: str) -> str:
    before, begin, rest = page.partition(marks[0])
    _, end, after = rest.partition(marks[1])
    if not begin or not end:
        raise CharterError(f"{PAGE.name}: the marks {marks[0]} and {marks[1]} are missing.")
    return f"{before}{begin}\n\n{text}\n\n{end}{after}"


def _details(one: Charter) -> list[str]:
    texts, lists = one.texts, one.lists
    silent = [f"`{name}`" for name, then in one.must_not if then == "silent"]
    named = [f"`{name}`" for name, then in one.must_not if then == "name"]
    kernel = f" Linux {texts['kernel']} or later." if texts["kernel"] else ""
    lines = [f"### {one.rule}: {texts['title']}", "", f"- **Holds:** {texts['holds']}{kernel}"]
    lines += [f"- **Settings:** {', '.join(f'`{path}`' for path in lists['settings'])}"] if lists["settings"] else []
    if lists["together"]:
        lines.append(f"- **Together with** {', '.join(lists['together'])}: {texts['together_why']}")
    elif texts["together_why"]:
        lines.append(f"- **Together:** {texts['together_why']}")
    lines.append(f"- **Must:** {'; '.join(lists['must'])}")
    lines.append(f"- **Must not:** {', '.join(silent) if silent else 'none'}")
    lines += [f"- **Given with the risk named:** {', '.join(named)}"] if named else []
    lines += [f"- **Says:** {texts['says']} {texts['fix']}".replace("  ", " ")] if texts["fix"] else []
    lines += [f"- **`doctor`:** {', '.join(f'`{name}`' for name in lists['doctor'])}"] if lists["doctor"] else []
    lines += [f"- **Harm:** {' '.join(lists['harm'])}", f"- **Helped when:** {texts['measure']}"]
    return [*lines, f"- **Sources:** {'; '.join(cite for _, cite in one.sources)}", ""]


def _range(one: Hazard) -> str:
    ends = [f"{one.from_kernel} or later"] if one.from_kernel else []
    ends += [f"before {one.before_kernel}"] if one.before_kernel else []
    ends += [f"not known from {one.unsure_kernel} on"] if one.unsure_kernel else []
    return ", ".join(ends) or "all"


def render_all(advice: Advice) -> dict[Path, str]:
    """Return the text of every generated file."""
    return {
        PYTHON_OUT: python_text(advice),
        RUST_OUT: rust_text(advice),
        PAGE: page_text(advice, PAGE.read_text(encoding="utf-8")),
    }


def main() -> None:
    """Write all files."""
    for path, text in render_all(load()).items():
        write_if_changed(path, text)


if __name__ == "__main__":
    main()
