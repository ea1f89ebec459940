"""`make validation`: write the document of all replays, or with `--swap-points` the kept points of swap devices."""

import sys
from pathlib import Path

from tierscope.domain.simulate import swap_points
from validation.document import DOCUMENT, render


def main() -> int:
    """Write docs/validation.md, or what is kept of the model of swap devices."""
    if "--swap-points" in sys.argv:
        written = Path(swap_points.__file__).with_suffix(".json")
        written.write_text(swap_points.write_points(), encoding="utf-8")
    else:
        written = DOCUMENT
        written.write_text(render(), encoding="utf-8")
    print(f"{written} is written")
    return 0


sys.exit(main())
