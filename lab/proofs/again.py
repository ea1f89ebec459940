"""A commit gives the same bytes again. What is compiled is taken from the first time."""

from collections.abc import Iterator

from proofs.artefacts import DIST, ROOT, NotProvenError, Proven, find_one, run


def prove() -> Iterator[Proven]:
    """Make wheels and packages once more and compare their hashes."""
    before = _hashes()
    run([ROOT / "deploy" / "dist" / "dist.sh", *sorted({name.partition("/")[0] for name in before})])
    after = _hashes()
    changed = sorted(name for name in before | after if before.get(name) != after.get(name))
    if changed:
        raise NotProvenError(f"other bytes the second time: {', '.join(changed)}")
    yield Proven("made again, the bytes are the same", f"{len(before)} files")


def _hashes() -> dict[str, str]:
    """Hashes by the path below .build/dist."""
    lines = find_one("SHA256SUMS").read_text(encoding="utf-8").splitlines()
    found = {name: digest for digest, name in (line.split(maxsplit=1) for line in lines)}
    if not found:
        raise NotProvenError(f"{DIST} lists nothing")
    return found
