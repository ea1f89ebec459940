"""`make validation`: replay everything and write the document."""

import sys

from validation.document import DOCUMENT, render


def main() -> int:
    """Write docs/validation.md."""
    DOCUMENT.write_text(render(), encoding="utf-8")
    print(f"{DOCUMENT} is written")
    return 0


sys.exit(main())
