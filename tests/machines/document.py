"""docs/method/machines.md: machine kinds, what is read, what is answered, what is not known."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from machines.asking import Answers
from machines.right import Kind

PAGE = Path(__file__).resolve().parents[2] / "docs" / "method" / "machines.md"
_INTRODUCTION = """# Machines, and what is answered of them

Each row is a machine by its documented layout. What is right was written down from that document before the agent was
asked (`tests/machines`); the row shows what `tierscope-agent doctor` and `assess` answered of a copy of its files.
Tests compare both. This page is made by `PYTHONPATH=tests .venv/bin/python -m machines`.

[How a node gets its class](../agent-json.md#how-a-node-gets-its-tier-class), [the states](../howto/assess.md#states).
"""
_SIZES = {"slower": "slower", "faster": "HBM beside it", "gpu": "of GPUs", "unknown": "nobody knows what"}


def render(sections: Mapping[str, Sequence[tuple[Kind, Answers]]]) -> str:
    parts = [_INTRODUCTION]
    for title, rows in sections.items():
        head = f"## {title}\n\n| Machine | By | What is read | Answered | Not known |\n|---|---|---|---|---|"
        parts.append("\n".join([head, *(_row(kind, answers) for kind, answers in rows)]) + "\n")
    return "\n".join(parts)


def _row(kind: Kind, answers: Answers) -> str:
    cells = (kind.name, kind.source, _read(answers), _answered(answers), _not_known(answers))
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _read(answers: Answers) -> str:
    by_evidence: dict[tuple[str, str], list[int]] = {}
    for node in answers.nodes:
        plain = node["cpulist"] and (node["tier_class"], node["tier_certainty"]) == ("dram", "certain")
        evidence = "it has CPUs" if plain else node["tier_evidence"]
        by_evidence.setdefault((node["tier_class"], evidence), []).append(node["id"])
    lines = [f"node {_span(ids)} `{name}`: {evidence}" for (name, evidence), ids in by_evidence.items()]
    lines += [
        f"in node {node['id']} `{part['tier_class']}`: {part['evidence']}"
        for node in answers.nodes
        for part in node["parts"]
    ]
    return "; ".join(lines) or "sizes alone"


def _span(ids: Sequence[int]) -> str:
    if len(ids) > 2 and ids[-1] - ids[0] == len(ids) - 1:
        return f"{ids[0]} to {ids[-1]}"
    return ", ".join(map(str, ids))


def _answered(answers: Answers) -> str:
    sizes = answers.gib
    memory = answers.host["memory"]
    told = [f"{sizes['dram']:g} GiB {memory['judged_class'].upper()}"] if sizes else ["no figure"]
    told += [f"{sizes[name]:g} GiB {words}" for name, words in _SIZES.items() if sizes.get(name)]
    advice = [finding["id"] for finding in answers.doctor["findings"] if finding["severity"] != "info"]
    findings = f"; warns `{'`, `'.join(advice)}`" if advice else ""
    return f"`{answers.host['state']}`, tiering {answers.doctor['tiering']['state']}; {', '.join(told)}{findings}"


def _not_known(answers: Answers) -> str:
    reasons = [answers.host["memory_reason"]] if answers.host["memory_reason"] else []
    reasons += [
        finding["cause"]
        for finding in answers.doctor["findings"]
        if finding["id"] in ("lower-tier-not-known", "not-in-tree")
    ]
    if not reasons:
        reasons = [
            f"node {node['id']}: {node['tier_evidence']}" for node in answers.nodes if node["tier_class"] == "unknown"
        ]
    return "; ".join(reasons)
