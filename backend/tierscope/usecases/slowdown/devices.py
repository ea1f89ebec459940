"""Which slow memory somebody means: a preset by its name, a file, or a latency."""

from collections.abc import Sequence
from pathlib import Path

from tierscope.core.errors import BadRequest
from tierscope.domain.slowdown import DRAM_NS, Device, device_presets, read_devices


def device_names() -> tuple[str, ...]:
    """Names of the kinds of slow memory that are known."""
    return tuple(device_presets())


def list_devices() -> list[Device]:
    """Kinds of slow memory that ratio advice can be asked for, with what they are like and where that is from."""
    return list(device_presets().values())


def find_device(name: str | None, latency_ns: float | None = None, gb_per_s: float | None = None) -> Device | None:
    """A preset by its name, or a device of this latency; None where neither is asked for.

    Raises:
        BadRequest: there is no such preset, both are asked for, or a bandwidth has no latency.
    """
    if name is None and latency_ns is None:
        if gb_per_s is not None:
            raise BadRequest("slow_gb_per_s has no device", next_step="Say slow_latency_ns beside it.")
        return None
    if name is None:
        assert latency_ns is not None
        own = f"{latency_ns:g} ns"
        return Device(own, own, latency_ns, latency_ns, latency_ns, DRAM_NS, gb_per_s, (), None, "as asked", "")
    if latency_ns is not None or gb_per_s is not None:
        raise BadRequest("a named device has a latency of its own", next_step="Leave device or slow_latency_ns out.")
    found = device_presets().get(name)
    if found is None:
        raise BadRequest(f"there is no device {name[:80]!r}", next_step=f"Name one of {', '.join(device_names())}.")
    return found


def read_named_devices(words: Sequence[str]) -> tuple[Device, ...]:
    """Presets by name, and devices of files.

    Raises:
        BadRequest: a word is neither, or a file cannot be read.
    """
    found: list[Device] = []
    for word in words:
        path = Path(word)
        if word in device_presets() or not path.is_file():
            device = find_device(word)
            found += [] if device is None else [device]
            continue
        try:
            found += read_devices(path.read_text("utf-8"), path.stem)
        except (OSError, ValueError) as error:
            raise BadRequest(f"{word}: {error}", next_step="Compare it with docs/method/ratio.md.") from error
    return tuple(found)


def device_settings(word: str | None) -> dict[str, float]:
    """The latencies of a device as settings of the simulator; none without one.

    Raises:
        BadRequest: there is no such device, or its file cannot be read or holds several.
    """
    if word is None:
        return {}
    found = read_named_devices([word])
    if len(found) != 1:
        raise BadRequest(f"{word} holds {len(found)} devices", next_step="Name a file with one.")
    return settings_of(found[0])


def settings_of(device: Device) -> dict[str, float]:
    """The latencies of a device as settings of the simulator."""
    return {"dram_latency_ns": device.dram_idle_ns, "slow_latency_ns": max(device.idle_ns, device.dram_idle_ns)}
