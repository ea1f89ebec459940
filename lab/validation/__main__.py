"""`make validation`: write the document of all replays, and the residuals that intervals of replays come from."""

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from tierscope.domain.simulate import swap_points
from validation import left_out, residuals
from validation.document import DOCUMENT, render
from validation.tables import table


def arguments() -> Namespace:
    parser = ArgumentParser(prog="validation", description=__doc__)
    parser.add_argument(
        "--recording",
        action="append",
        default=[],
        type=Path,
        metavar="FILE",
        help="replay this recording (.tar.zst, as `make corpus` makes them) and print its row, and write nothing; "
        "repeatable",
    )
    parser.add_argument("--swap-points", action="store_true", help="write the kept points of swap devices alone")
    parser.add_argument("--residuals", action="store_true", help="write the kept residuals alone")
    asked = parser.parse_args()
    for path in asked.recording:
        if not path.is_file():
            parser.error(f"{path} is not a file: name a recording, such as tests/data/kernel-corpus/*.tar.zst")
    return asked


def main() -> int:
    """Write docs/validation.md, or what is kept of the model of swap devices, or judge recordings."""
    asked = arguments()
    if asked.recording:
        rows = [one.row() for one in left_out.replay_on_all_cores(left_out.replay_archive, asked.recording)]
        print(table(left_out.HEADER, rows), end="")
        return 0
    if asked.swap_points:
        written = Path(swap_points.__file__).with_suffix(".json")
        written.write_text(swap_points.write_points(), encoding="utf-8")
    elif asked.residuals:
        written = residuals.RESIDUALS
        residuals.keep(left_out.replay_all(left_out.names(left_out=False)))
    else:
        written = DOCUMENT
        written.write_text(render(), encoding="utf-8")
    print(f"{written} is written")
    return 0


sys.exit(main())
