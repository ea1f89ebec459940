"""`make dist-proof` proves what `make dist` made, `make bare-proof` a clone; 1 where something did not hold."""

import argparse
import signal
import sys
import time
from collections.abc import Callable, Iterator

from factories.waiting import NeverHappenedError
from proofs import again, bare, clone, debian, images, rpm, systemd, wheels
from proofs.artefacts import NotHereError, NotProvenError, Proven

PARTS: dict[str, Callable[[], Iterator[Proven]]] = {
    "again": again.prove,
    "wheels": wheels.prove,
    "bookworm": debian.prove_on("bookworm"),
    "trixie": debian.prove_on("trixie"),
    "systemd": systemd.prove,
    "rpm": rpm.prove,
    "images": images.prove,
    "up-bookworm": bare.prove_on("bookworm"),
    "up-trixie": bare.prove_on("trixie"),
    "up-images": clone.prove,
}


def main() -> int:
    """Run the parts that are asked for, all of them without a word."""
    parser = argparse.ArgumentParser(prog="make dist-proof", description=__doc__)
    parser.add_argument(
        "parts", nargs="*", metavar="PART", help=f"out of {', '.join(PARTS)}; without, those of `make dist`"
    )
    asked = parser.parse_args().parts or [part for part in PARTS if not part.startswith("up-")]
    if unknown := sorted(set(asked) - set(PARTS)):
        parser.error(f"no such part: {', '.join(unknown)}; use {', '.join(PARTS)}")
    # Ended from outside it still ends what it started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    failed = [_failed(part) for part in asked]
    return 1 if any(failed) else 0


def _failed(part: str) -> bool:
    started = time.monotonic()
    print(f"==> {part}", flush=True)
    try:
        for proven in PARTS[part]():
            print(f"    {proven.statement}: {proven.seen}", flush=True)
    except NotHereError as reason:
        print(f"    not run here: {reason}", flush=True)
        return False
    except (NotProvenError, NeverHappenedError) as reason:
        print(f"FAILED: {reason}", flush=True)
        return True
    print(f"    {part}: {time.monotonic() - started:.0f} s", flush=True)
    return False


if __name__ == "__main__":
    sys.exit(main())
