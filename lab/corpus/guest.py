"""The emulated guest: builds what it needs, boots it for a recording or more, and gives what it wrote."""

import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from corpus.packing import GLOBS
from corpus.plan import Memory, Scenario

_HERE = Path(__file__).with_name("guest")
SNAPSHOT_S = 2
SLOW_NS = 3_000
"""Added to an access to a page on the slow node: both nodes are the same memory of this machine. It is a choice."""
FLOOD_MIB_PER_S = 40
_BUILD_SECONDS = 3_600
_SECONDS_PER_GUEST_SECOND = 60
"""On a machine that others load, too."""
_SPARE_SECONDS = 1_200
_LATENCY_NS = (90, 270)
_BANDWIDTH = ("40G", "10G")
_CXL_WINDOW_MIB = 4096


class GuestError(Exception):
    """The guest cannot be built, or gave no recording; the text says why."""


@dataclass(frozen=True, slots=True)
class Lab:
    """Where the parts of guests are unpacked."""

    place: Path

    def build(self, kernels: Sequence[str]) -> None:
        """Download and unpack what is missing of these kernels, and make images anew whose first process changed.

        Raises:
            GuestError: a part cannot be had.
        """
        command = [str(_HERE / "build.sh"), str(self.place), *kernels]
        done = subprocess.run(command, capture_output=True, text=True, timeout=_BUILD_SECONDS, check=False)
        if done.returncode != 0:
            raise GuestError(f"the guest cannot be built: {(done.stderr or done.stdout).strip()[-1000:]}")

    def has(self, kernel: str) -> bool:
        """Whether a guest with this kernel can be booted."""
        return (self.place / "images" / f"{kernel}.gz").is_file()


@dataclass(frozen=True, slots=True)
class Recorded:
    snapshots: bytes
    workload_log: str
    events_log: str
    kernel_release: str


def settings(scenario: Scenario) -> str:
    """Return what `init.sh` reads: the layout, the load's arguments and the scanner's settings, empty for defaults."""
    dram_mib = scenario.memory.dram_mib
    acts = [
        ":".join(
            [
                f"{dram_mib * act.hot_ratio:.0f}",
                str(act.move_s),
                str(act.seconds),
                *(["flood"] if act.is_flooded else []),
                *(["fill"] if act.is_filled else []),
            ]
        )
        for act in scenario.load.acts
    ]
    load = [dram_mib * scenario.load.memory_ratio, int(scenario.load.is_huge), SLOW_NS, FLOOD_MIB_PER_S]
    scanner = scenario.scanner
    values = {
        "LAYOUT": scenario.layout,
        "LOAD": " ".join([*(f"{number:.0f}" for number in load), *acts]),
        "SNAPSHOT_S": SNAPSHOT_S,
        "SCAN_PERIOD_MAX_MS": scanner.scan_period_max_ms,
        "HOT_THRESHOLD_MS": scanner.hot_threshold_ms,
        "WATERMARK_SCALE_FACTOR": scanner.watermark_scale_factor,
        "BALANCING": scenario.load.balancing,
        "DEMOTION": int(scenario.load.is_demoting),
        "PROMOTE_LIMIT_MIB_PER_S": scenario.load.promote_limit_mib_per_s,
        "SWAP_MIB": int(dram_mib * scenario.load.swap_ratio),
    }
    return "".join(f"{name}={shlex.quote('' if value is None else str(value))}\n" for name, value in values.items())


def memory_options(layout: str, memory: Memory, processors: int = 2) -> tuple[str, list[str]]:
    dram, slow = memory.dram_mib, memory.slow_mib
    cpus = ",".join(f"cpus={cpu}" for cpu in range(processors))
    fast = ["-object", f"memory-backend-ram,id=fast,size={dram}M", "-numa", f"node,nodeid=0,{cpus},memdev=fast"]
    tables = []
    for node, (latency_ns, bandwidth) in enumerate(zip(_LATENCY_NS, _BANDWIDTH, strict=True)):
        reach = f"hmat-lb,initiator=0,target={node},hierarchy=memory,data-type="
        tables += ["-numa", f"{reach}access-latency,latency={latency_ns}"]
        tables += ["-numa", f"{reach}access-bandwidth,bandwidth={bandwidth}"]
    hotplug = ["-m", f"{dram}M,slots=4,maxmem=16G"]
    if layout == "hmat":
        second = [
            "-object",
            f"memory-backend-ram,id=slow,size={slow}M",
            "-numa",
            "node,nodeid=1,memdev=slow,initiator=0",
        ]
        return "q35,hmat=on", ["-m", f"{dram + slow}M", *fast, *second, *tables]
    if layout == "nvdimm":
        second = ["-numa", "node,nodeid=1,initiator=0", *tables, "-object", f"memory-backend-ram,id=slow,size={slow}M"]
        device = ["-device", "nvdimm,id=nvdimm0,memdev=slow,node=1"]
        return "q35,hmat=on,nvdimm=on", [*hotplug, *fast, *second, *device]
    bridge = [
        "-device",
        "pxb-cxl,bus_nr=12,bus=pcie.0,id=cxl.1",
        "-device",
        "cxl-rp,port=0,bus=cxl.1,id=rp0,chassis=0,slot=2",
    ]
    device = ["-device", "cxl-type3,bus=rp0,volatile-memdev=slow,id=cxl0,sn=0x1"]
    window = ["-M", f"cxl-fmw.0.targets.0=cxl.1,cxl-fmw.0.size={_CXL_WINDOW_MIB}M"]
    backend = ["-object", f"memory-backend-ram,id=slow,share=on,size={slow}M"]
    return "q35,cxl=on", [*hotplug, *fast, *backend, *bridge, *device, *window]


def command(lab: Lab, scenario: Scenario, shared: Path) -> list[str]:
    """Return the emulator's command line for a recording whose directory is `shared`."""
    machine, memory = memory_options(scenario.layout, scenario.memory)
    emulator = lab.place / "emulator" / "usr"
    # A kernel below a hypervisor refuses to set up CXL memory: it could not flush caches.
    cpu = "max,hypervisor=off" if scenario.layout == "cxl" else "max"
    # An access to emulated CXL memory leaves the emulated processor, which counted instructions do not allow for.
    # Elsewhere the guest's clock counts instructions, so that a busy machine records slower and not otherwise.
    shift = scenario.memory.instruction_ns.bit_length() - 1
    clock = [] if scenario.layout == "cxl" else ["-icount", f"shift={shift},sleep=off", "-rtc", "clock=vm"]
    images = lab.place / "images"
    return [
        str(emulator / "bin" / "qemu-system-x86_64"),
        *(word for part in ("qemu", "seabios") for word in ("-L", str(emulator / "share" / part))),
        *("-accel", "tcg,thread=single", *clock, "-nodefaults", "-no-reboot", "-display", "none"),
        *("-serial", f"file:{shared / 'console.txt'}", "-machine", machine, "-cpu", cpu, "-smp", "2"),
        *("-virtfs", f"local,path={shared},mount_tag=lab,security_model=none,multidevs=remap"),
        *("-drive", f"file={images / 'disk'},format=raw,if=none,id=disk,readonly=on"),
        *("-device", "virtio-blk-pci,drive=disk", *memory),
        *("-kernel", str(lab.place / "kernels" / scenario.kernel / "vmlinuz")),
        *("-initrd", str(images / f"{scenario.kernel}.gz")),
        *("-append", "console=ttyS0 panic=-1 loglevel=4 mitigations=off"),
    ]


def record(lab: Lab, scenarios: Sequence[Scenario]) -> Iterator[Recorded | GuestError]:
    """Boot a guest, let it run the loads one after the other and record each; yield what came of each, in their order.

    The scenarios differ in load and scanner alone. A load takes minutes of one core. An error says of one load that it
    ended early, or that the guest did.
    """
    libraries = ":".join(str(lab.place / "emulator" / part / "x86_64-linux-gnu") for part in ("usr/lib", "lib"))
    with tempfile.TemporaryDirectory(prefix="tierscope-corpus-") as directory:
        shared = Path(directory)
        for program in ("load", "record"):
            shutil.copy(lab.place / "images" / program, shared / program)
        (shared / "globs").write_text("\n".join(GLOBS) + "\n", encoding="ascii")
        places = [shared / str(number) for number in range(1, len(scenarios) + 1)]
        for place, scenario in zip(places, scenarios, strict=True):
            place.mkdir()
            (place / "settings").write_text(settings(scenario), encoding="ascii")
        done = subprocess.run(
            command(lab, scenarios[0], shared),
            env={**os.environ, "LD_LIBRARY_PATH": libraries},
            capture_output=True,
            text=True,
            timeout=sum(one.seconds for one in scenarios) * _SECONDS_PER_GUEST_SECOND + _SPARE_SECONDS,
            check=False,
        )
        for place, scenario in zip(places, scenarios, strict=True):
            events = _text(place / "events.log")
            if not events.rstrip().endswith("done") or " load ends 0\n" not in events:
                said = _text(shared / "console.txt") or done.stderr
                yield GuestError(f"{scenario.name}: the guest did not end its recording: {events[-200:]}{said[-800:]}")
                continue
            yield Recorded(
                snapshots=(place / "snapshots").read_bytes(),
                workload_log=_text(place / "workload.log"),
                events_log=events,
                kernel_release=_text(lab.place / "kernels" / scenario.kernel / "release").strip(),
            )


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
