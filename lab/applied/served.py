"""A guest that boots as a server does, and runs what it is told, one thing after the other."""

import lzma
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import zstandard

from corpus.guest import GuestError, Lab, memory_options
from corpus.packing import GLOBS
from corpus.plan import Memory
from factories.waiting import NeverHappenedError, until

_HERE = Path(__file__).with_name("guest")
INSTRUCTION_SHIFT = 5
"""An instruction takes the guest 2^5 ns: so few a second that minutes of it take minutes of a core."""
MEMORY = Memory("served", 384, 768)
Layout = Literal["hmat", "nvdimm"]
_MOST_SECONDS = 7_200
_MAGICS = {b"\x28\xb5\x2f\xfd": zstandard.ZstdDecompressor, b"\xfd7zXZ\x00": lzma.LZMADecompressor}


def tiered_layout(kernel: str) -> Layout:
    """A layout in which this kernel sees two tiers: before 6.7 it does not rank nodes by what firmware says of them."""
    return "nvdimm" if kernel == "6.1" else "hmat"


def unpacked_kernel(packed: bytes) -> bytes:
    """The kernel in a compressed image, which the emulated processor would take a minute to unpack.

    Raises:
        ValueError: there is none.
    """
    for magic, method in _MAGICS.items():
        at = packed.find(magic)
        while at >= 0:
            try:
                unpack = method() if method is lzma.LZMADecompressor else method().decompressobj()
                kernel: bytes = unpack.decompress(packed[at:])
            except (zstandard.ZstdError, lzma.LZMAError):
                kernel = b""
            if kernel.startswith(b"\x7fELF"):
                return kernel
            at = packed.find(magic, at + 1)
    raise ValueError("no kernel is in this image")


def build(lab: Lab, kernel: str) -> None:
    """Make what boots with this kernel.

    Raises:
        GuestError: a part cannot be had.
    """
    lab.build([kernel])
    if not lab.has(kernel):
        raise GuestError(f"no package of kernel {kernel} here")
    done = subprocess.run(
        [str(_HERE / "build.sh"), str(lab.place), kernel], capture_output=True, text=True, timeout=3_600, check=False
    )
    if done.returncode != 0:
        raise GuestError(f"the guest cannot be built: {(done.stderr or done.stdout).strip()[-1000:]}")
    place = lab.place / "kernels" / kernel
    if not (place / "vmlinux").exists():
        (place / "vmlinux").write_bytes(unpacked_kernel((place / "vmlinuz").read_bytes()))


@dataclass(slots=True)
class Guest:
    """A guest that runs. `shared` is its directory `/lab`."""

    shared: Path
    emulator: subprocess.Popen[bytes]
    asked: int = 0

    def run(self, steps: str) -> None:
        """Run steps of `steps.sh` and wait until they are done.

        Raises:
            GuestError: the guest ended before, or takes too long.
        """
        self.asked += 1
        part = self.shared / "part"
        part.write_text(steps, encoding="ascii")
        part.rename(self.shared / f"steps.{self.asked}")
        done = self.shared / f"done.{self.asked}"
        try:
            until(done.exists, "the end of its steps", seconds=_MOST_SECONDS, alive={"the guest": self.emulator})
        except NeverHappenedError as error:
            said = self.read("serial.txt")[-800:] + self.read("console.txt")[-800:]
            raise GuestError(f"{error}: {said}") from error

    def settings(self) -> dict[str, str]:
        """All settings of memory and of the scheduler as they are now, by path."""
        self.run("settings now\n")
        return parse_settings(self.read("now"))

    def read(self, name: str) -> str:
        """A file that the guest wrote, empty where there is none."""
        path = self.shared / name
        return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""


def lend_program(agent: Path, shared: Path) -> None:
    """Put the agent's program where a guest with this directory finds it."""
    shared.mkdir(parents=True, exist_ok=True)
    (shared / "tierscope-agent").write_bytes(agent.read_bytes())
    (shared / "tierscope-agent").chmod(0o755)


def write_settings(values: Mapping[str, str]) -> str:
    """Steps that set values by path."""
    return "".join(f"echo {value} >{path}\n" for path, value in values.items())


def parse_settings(text: str) -> dict[str, str]:
    """The values by path of what `settings` in the guest prints; those of several lines are joined."""
    values: dict[str, str] = {}
    for line in text.splitlines():
        path, _, value = line.partition(":")
        values[path] = f"{values[path]} {value.strip()}" if path in values else value.strip()
    return values


def command(lab: Lab, kernel: str, layout: Layout, shared: Path) -> list[str]:
    emulator, images = lab.place / "emulator" / "usr", lab.place / "images"
    machine, memory = memory_options(layout, MEMORY, processors=1)
    return [
        str(emulator / "bin" / "qemu-system-x86_64"),
        *("-L", str(emulator / "share" / "qemu"), "-L", str(emulator / "share" / "seabios")),
        *("-accel", "tcg,thread=single", "-icount", f"shift={INSTRUCTION_SHIFT},sleep=off", "-rtc", "clock=vm"),
        *("-nodefaults", "-no-reboot", "-display", "none", "-serial", f"file:{shared / 'serial.txt'}"),
        *("-machine", machine, "-cpu", "max", "-smp", "1"),
        *("-virtfs", f"local,path={shared},mount_tag=lab,security_model=none,multidevs=remap"),
        *("-drive", f"file={images / 'disk'},format=raw,if=none,id=disk,readonly=on"),
        *("-device", "virtio-blk-pci,drive=disk", *memory),
        *("-kernel", str(lab.place / "kernels" / kernel / "vmlinux"), "-initrd", str(images / f"{kernel}-served")),
        *(
            "-append",
            "console=ttyS0 panic=-1 mitigations=off lpj=1000000 no_timer_check audit=0 quiet systemd.show_status=0",
        ),
    ]


@contextmanager
def booted(lab: Lab, kernel: str, layout: Layout, shared: Path) -> Iterator[Guest]:
    """A guest from boot until it is off. What it had in `/etc` is there again at the next boot with this directory."""
    shared.mkdir(parents=True, exist_ok=True)
    for old in (*shared.glob("steps.*"), *shared.glob("done.*")):
        old.unlink()
    for program in ("load", "record"):
        shutil.copy(lab.place / "images" / program, shared / program)
    (shared / "globs").write_text("\n".join(GLOBS) + "\n", encoding="ascii")
    libraries = ":".join(str(lab.place / "emulator" / part / "x86_64-linux-gnu") for part in ("usr/lib", "lib"))
    emulator = subprocess.Popen(
        command(lab, kernel, layout, shared),
        env={**os.environ, "LD_LIBRARY_PATH": libraries},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        guest = Guest(shared, emulator)
        yield guest
        guest.run("leave\n")
        emulator.wait(timeout=600)
    finally:
        if emulator.poll() is None:
            emulator.send_signal(signal.SIGKILL)
            emulator.wait()
