"""A commit gives the same bytes again. What is compiled is taken from the first time."""

import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from proofs.artefacts import DIST, ROOT, NotProvenError, Proven, find_one, run

_SHARED = (".venv", ".build/uv", ".build/dist-tools")
_IMAGES_SECONDS = 3600.0


def prove() -> Iterator[Proven]:
    """Make everything once more, images in another directory and on a base made anew, and compare hashes."""
    before = _hashes()
    images = {name.removeprefix("images/"): digest for name, digest in before.items() if name.startswith("images/")}
    run([ROOT / "deploy" / "dist" / "dist.sh", *sorted({name.partition("/")[0] for name in before} - {"images"})])
    _compare(before, _hashes())
    yield Proven("made again, the bytes are the same", f"{len(before) - len(images)} files")
    if images:
        _compare(images, _images_made_elsewhere())
        yield Proven("images made again elsewhere are the same bytes", ", ".join(sorted(images)))


def _compare(before: dict[str, str], after: dict[str, str]) -> None:
    changed = sorted(name for name in before | after if before.get(name) != after.get(name))
    if changed:
        raise NotProvenError(f"other bytes the second time: {', '.join(changed)}")


def _hashes() -> dict[str, str]:
    """Hashes by the path below .build/dist."""
    lines = find_one("SHA256SUMS").read_text(encoding="utf-8").splitlines()
    found = {name: digest for digest, name in (line.split(maxsplit=1) for line in lines)}
    if not found:
        raise NotProvenError(f"{DIST} lists nothing")
    return found


def _images_made_elsewhere() -> dict[str, str]:
    """Hashes of images that a clone of the commit makes of the same packages."""
    with tempfile.TemporaryDirectory(prefix="again-", dir=ROOT / ".build") as name:
        clone = Path(name) / "another" / "directory"
        run(["git", "clone", "--quiet", ROOT, clone])
        shutil.copytree(DIST / "packages", clone / ".build" / "dist" / "packages", copy_function=os.link)
        for shared in _SHARED:
            if (ROOT / shared).exists():
                (clone / shared).symlink_to(ROOT / shared)
        run([clone / "deploy" / "dist" / "images.sh"], seconds=_IMAGES_SECONDS)
        made = (clone / ".build" / "dist" / "images").iterdir()
        return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in made}
