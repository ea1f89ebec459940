"""Images of a clone, built with nothing made before, as `docker compose up` has them built; here by buildah."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from proofs.artefacts import ROOT, NotHereError, NotProvenError, Proven, child_cpu_seconds, run
from proofs.bare import CERTIFICATES
from tierscope import __version__

_PROGRAMS = {"service": "tierscope", "agent": "/usr/bin/tierscope-agent"}
_OF_THE_BUILD = "cc cargo rustc go node npm pip uv make git"
_BUILD_SECONDS = 3 * 3600.0


def prove() -> Iterator[Proven]:
    """Build service and agent from a clone of the last commit, and start their programs."""
    for program in ("buildah", "mmdebstrap"):
        if shutil.which(program) is None:
            raise NotHereError(f"{program} is missing: apt-get install {program}")
    with tempfile.TemporaryDirectory(prefix="clone-", dir=ROOT / ".build") as name:
        clone = Path(name) / "tierscope"
        run(["git", "clone", "--quiet", ROOT, clone])
        base = run([clone / "deploy" / "dist" / "base.sh"], seconds=_BUILD_SECONDS).strip()
        store = clone / ".build" / "containers"
        buildah = ["buildah", "--root", str(store / "storage"), "--runroot", str(store / "run")]
        yield Proven("a clone with nothing made", f"on {base}")
        for image, program in _PROGRAMS.items():
            yield _built(buildah, clone, base, image, program)


def _built(buildah: list[str], clone: Path, base: str, image: str, program: str) -> Proven:
    before = child_cpu_seconds()
    words = ["--quiet", "--layers", "--isolation", "chroot", "--build-arg", f"BASE={base}", "--target", image]
    if CERTIFICATES.exists():
        words += ["--secret", f"id=certificates,src={CERTIFICATES}"]
    dockerfile = clone / "deploy" / "docker" / "Dockerfile"
    run([*buildah, "build", *words, "--file", dockerfile, "--tag", image, clone], seconds=_BUILD_SECONDS)
    container = run([*buildah, "from", image]).strip()
    inside = [*buildah, "run", "--isolation", "chroot", container, "--"]
    said = run([*inside, program, "--version"]).strip()
    if __version__ not in said:
        raise NotProvenError(f"{image}: {program} --version says {said!r}")
    root = Path(run([*buildah, "mount", container]).strip())
    places = [root / "usr/bin", root / "usr/local/bin", root / "usr/lib/tierscope/bin"]
    left = [tool for tool in _OF_THE_BUILD.split() for place in places if (place / tool).exists()]
    left += [str(path) for path in root.glob("usr/local/share/ca-certificates/*")]
    run([*buildah, "rm", container])
    if left:
        raise NotProvenError(f"{image} holds what built it: {left}")
    return Proven(f"{image} is built and starts", f"{said}; {child_cpu_seconds() - before:.0f} s of CPU")
