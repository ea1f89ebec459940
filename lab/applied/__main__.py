"""`make applied`: apply advice to kernels with two memory tiers, and write down what came of it."""

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from applied import helped, kept, pages
from applied.report import RESULTS, write_table
from applied.served import booted, build, tiered_layout
from corpus.guest import GuestError, Lab
from corpus.plan import KERNELS

RECORDINGS = Path(__file__).resolve().parents[2] / "tests" / "data" / "applied"
_CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "tierscope" / "kernel-lab"
PARTS = ("kept", "helped", "pages")


def _arguments(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make applied", description=__doc__)
    parser.add_argument("--agent", type=Path, required=True, help="the agent's program, which runs in the guest")
    parser.add_argument("--only", action="append", choices=PARTS, default=[], help="a part; repeatable")
    parser.add_argument("--kernel", action="append", choices=KERNELS, default=[], help="a kernel; repeatable")
    cases = [case.name for case in helped.CASES]
    parser.add_argument("--case", action="append", choices=cases, help="a load of the part helped; repeatable")
    parser.add_argument("--lab", type=Path, default=_CACHE, help="where the guest is unpacked (2 GB)")
    return parser.parse_args(words)


def _run(part: str, lab: Lab, kernel: str, agent: Path, shared: Path, cases: Sequence[str] | None) -> object:
    if part == "kept":
        return asdict(kept.judge(lab, kernel, agent, shared))
    if part == "pages":
        return asdict(pages.judge(lab, kernel, agent, shared))
    with booted(lab, kernel, tiered_layout(kernel), shared) as guest:
        guest.run("late\n")
        asked = [case for case in helped.CASES if cases is None or case.name in cases]
        return [asdict(helped.judge(guest, case, kernel, agent, RECORDINGS)) for case in asked]


def _joined(before: object, found: object) -> object:
    """Of several loads those that did not run keep their rows, in the order of the cases."""
    if not isinstance(before, list) or not isinstance(found, list):
        return found
    rows = {row["case"]: row for row in (*before, *found)}
    return [rows[case.name] for case in helped.CASES if case.name in rows]


def main(words: Sequence[str]) -> int:
    """Run the parts; what could not be run keeps the result that it had."""
    given = _arguments(words)
    results = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    failed = 0
    for kernel in given.kernel or KERNELS:
        try:
            build(Lab(given.lab), kernel)
            for part in given.only or PARTS:
                with tempfile.TemporaryDirectory(prefix="tierscope-applied-") as directory:
                    found = _run(part, Lab(given.lab), kernel, given.agent, Path(directory), given.case)
                rows = results.setdefault(part, {})
                rows[kernel] = _joined(rows.get(kernel), found)
                RESULTS.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        except (GuestError, ValueError) as error:
            print(f"{kernel}: {error}", file=sys.stderr)
            failed += 1
    write_table(results)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
