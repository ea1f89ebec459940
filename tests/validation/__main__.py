"""`make validation`: write the document of all replays, and the residuals that intervals of replays come from.

With `--swap-points` the kept points of swap devices alone, with `--residuals` the kept residuals alone.
"""

import sys
from pathlib import Path

from tierscope.domain.simulate import swap_points
from validation import left_out, residuals
from validation.document import DOCUMENT, render


def main() -> int:
    """Write docs/validation.md, or what is kept of the model of swap devices."""
    if "--swap-points" in sys.argv:
        written = Path(swap_points.__file__).with_suffix(".json")
        written.write_text(swap_points.write_points(), encoding="utf-8")
    elif "--residuals" in sys.argv:
        written = residuals.RESIDUALS
        residuals.keep(left_out.replay_all(left_out.names(left_out=False)))
    else:
        written = DOCUMENT
        written.write_text(render(), encoding="utf-8")
    print(f"{written} is written")
    return 0


sys.exit(main())
