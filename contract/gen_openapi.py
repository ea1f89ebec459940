"""Writes contract/openapi.json from the API's routers, or with --check fails if the committed file differs."""

import json
import sys
from pathlib import Path

TARGET = Path(__file__).with_name("openapi.json")


def render() -> str:
    """The OpenAPI document as committed: sorted keys, two spaces, a newline at the end."""
    from tierscope.api.app import build_openapi

    return json.dumps(build_openapi(), indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def main() -> int:
    """Write the document; with --check compare only. Returns the exit status."""
    text = render()
    if "--check" in sys.argv[1:]:
        if TARGET.read_text(encoding="utf-8") == text:
            return 0
        print("contract/openapi.json differs from the routers: run `make gen` and commit the result", file=sys.stderr)
        return 1
    TARGET.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
