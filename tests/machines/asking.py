"""What the agent's program answers of a machine."""

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from machines.right import ABOUT_MEMORY, Kind, Right
from machines.trees import GIB, KIB, write_tree

_ROUNDING_GIB = 0.01
_SIZES = ("dram", "slower", "faster", "gpu", "unknown")


@dataclass(frozen=True, slots=True)
class Answers:
    """What `doctor`, `assess` and `once` print of one machine."""

    doctor: dict[str, Any]
    host: dict[str, Any]
    inventory: dict[str, Any]

    @property
    def nodes(self) -> list[dict[str, Any]]:
        return [node for node in self.inventory["nodes"] if node["memory_bytes"] != 0]

    @property
    def gib(self) -> dict[str, float]:
        """Sizes by what they are; nothing where no figure is made."""
        memory = self.host["memory"]
        return {} if memory is None else {name: memory[f"{name}_bytes"] / GIB for name in _SIZES}


def ask(program: Path, kind: Kind) -> Answers:
    """Write the machine's files and ask of them."""
    with TemporaryDirectory() as directory:
        write_tree(kind.machine, Path(directory))
        return ask_tree(program, Path(directory))


def ask_tree(program: Path, root: Path) -> Answers:
    """Ask of files that stand for those of a host."""

    def answer(*words: str) -> dict[str, Any]:
        done = subprocess.run(
            [str(program), *words, "--root", str(root), "--json"],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert done.stdout, f"{root}: {words}: {done.stderr}"
        document = json.loads(done.stdout)
        assert isinstance(document, dict)
        return document

    return Answers(answer("doctor"), answer("assess")["hosts"][0], answer("once")["inventory"])


def mistakes(right: Right, answers: Answers) -> list[str]:
    """Compare with what is right; empty where all of it is."""
    sizes = {name: getattr(right, name) for name in _SIZES} if right.dram is not None else {}
    confidences = {
        finding["id"]: finding["confidence"] for finding in answers.doctor["findings"] if finding["id"] in ABOUT_MEMORY
    }
    about: dict[str, tuple[Any, Any]] = {
        "classes": (dict(right.classes), {node["id"]: node["tier_class"] for node in answers.nodes}),
        "tiering": (right.tiering, answers.doctor["tiering"]["state"]),
        "state": (right.state, answers.host["state"]),
        "findings": (sorted(right.findings), sorted(confidences)),
        "sizes": (sorted(sizes), sorted(answers.gib)),
        "hypervisor": (right.hypervisor, answers.inventory["hypervisor"] if right.hypervisor else None),
        "page size": (right.page_kib, answers.inventory["page_size_bytes"] // KIB if right.page_kib else None),
    }
    wrong = [f"{what}: {given} for {expected}" for what, (expected, given) in about.items() if expected != given]
    wrong += [
        f"{name}: {answers.gib[name]:.2f} GiB for {size}"
        for name, size in sizes.items()
        if name in answers.gib and abs(answers.gib[name] - size) > _ROUNDING_GIB
    ]
    if right.needed_at_least is not None:
        needed_gib = answers.host["memory"]["dram_needed"]["interval"]["lo"] / GIB
        if abs(needed_gib - right.needed_at_least) > _ROUNDING_GIB:
            wrong.append(f"needed: at least {needed_gib:.2f} GiB for {right.needed_at_least}")
    if right.in_use is not None:
        used_gib = answers.host["memory"]["used_bytes"] / GIB
        if abs(used_gib - right.in_use) > _ROUNDING_GIB:
            wrong.append(f"in use: {used_gib:.2f} GiB for {right.in_use:.2f}")
    wrong += [
        f"{name} is {confidences[name]}" for name in right.certain if confidences.get(name, "certain") != "certain"
    ]
    wrong += [f"{name} is certain" for name in right.likely if confidences.get(name) == "certain"]
    wrong += [
        f"the class of node {node['id']} is {node['tier_certainty']}"
        for node in answers.nodes
        if (str(node["id"]) in right.likely_nodes and node["tier_certainty"] == "certain")
        or (str(node["id"]) in right.certain_nodes and node["tier_certainty"] != "certain")
    ]
    return wrong
