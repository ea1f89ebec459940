"""`make fuzz`: feeds each reader of the service changed bodies for a while; what breaks one is written down.

Bodies that a reader takes, and some that it refuses in a new way, join those that the next are made from. The exit
status is 1 where a reader raised what it may not, or where the process took more memory than a body may cost.
"""

import argparse
import random
import resource
import secrets
import sys
import time
from pathlib import Path

from fuzz.mutate import mutate
from fuzz.targets import TARGETS, Target

FOUND = Path(__file__).resolve().parents[2] / ".build" / "fuzz"
_POOL = 400
_MEMORY_BYTES = 512 << 20
"""More than the whole process takes at its largest body."""


def fuzz(target: Target, seconds: float, seed: int) -> tuple[int, list[str]]:
    """Feed one target; return the number of bodies and what went wrong."""
    rng = random.Random(f"{target.name} {seed}")  # noqa: S311 - no secret
    pool, refusals, crashes = list(target.seeds), set[str](), list[str]()
    end, fed = time.monotonic() + seconds, 0
    while time.monotonic() < end and len(crashes) < 10:
        body = mutate(rng, pool)
        fed += 1
        try:
            target.read(body)
            new = len(pool) < _POOL and rng.random() < 0.05
        except target.may_raise as error:
            said = f"{type(error).__name__} {str(error)[:40]}"
            new = said not in refusals and len(refusals) < _POOL
            refusals.add(said)
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            FOUND.mkdir(parents=True, exist_ok=True)
            path = FOUND / f"{target.name}-{seed}-{fed}"
            path.write_bytes(body)
            crashes.append(f"{target.name}: {type(error).__name__}: {error} ({path})")
            continue
        if new:
            pool.append(body)
    return fed, crashes


def main() -> int:
    """Feed what is asked for; say how each went."""
    parser = argparse.ArgumentParser(prog="make fuzz", description=__doc__)
    names = [target.name for target in TARGETS]
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"some of {', '.join(names)}; all by default")
    parser.add_argument("--seconds", type=float, default=60.0, help="for each target")
    parser.add_argument("--seed", type=int, default=secrets.randbelow(2**32), help="drawn by default")
    chosen = parser.parse_args()
    if unknown := set(chosen.targets) - set(names):
        parser.error(f"no such target: {', '.join(sorted(unknown))}; there are {', '.join(names)}")
    crashes = list[str]()
    print(f"seed {chosen.seed}")
    for target in TARGETS:
        if chosen.targets and target.name not in chosen.targets:
            continue
        fed, found = fuzz(target, chosen.seconds, chosen.seed)
        crashes += found
        print(
            f"{target.name} ({target.reads}): {fed:,} bodies in {chosen.seconds:g} s, {len(found)} crashes", flush=True
        )
    peak_bytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
    if peak_bytes > _MEMORY_BYTES:
        crashes.append(f"the process took {peak_bytes >> 20} MiB, more than {_MEMORY_BYTES >> 20}")
    for crash in crashes:
        print(f"CRASH {crash}", file=sys.stderr)
    return 1 if crashes else 0


if __name__ == "__main__":
    raise SystemExit(main())
