"""Rules on swap devices: what they make of the pages that they are given."""

from tierscope.domain.knobs.facts import Facts, SwapDrive
from tierscope.domain.knobs.shapes import Advice, Evidence
from tierscope.domain.simulate.swap_amplification import Amplification, amplification_at

WAF_MAX = 2.0
SWAP_USED_MAX = 0.5
"""The use above which Linux frees a slot when its page is read (`vm_swap_full`)."""
CUTOFF = (
    "Above half use the kernel frees a slot as soon as its page is read. Keep use below half: a larger or a zoned "
    "device, or half of the device spare."
)
KEEP_OUT = (
    "Keep services out of swap whose pages come back (`memory.swap.max` 0 in their cgroup), and services that only "
    "read apart from services that write: they share the device's garbage collection."
)


def swap_tier(facts: Facts) -> Advice | None:
    """F11: swap is on a rotating disk, or more than half full, or its device writes much more than it is given."""
    rotating = _rotating(facts)
    if rotating is not None:
        return rotating
    flows, drives = facts.flows, facts.host.swap_drives
    simulated = _simulated(facts)
    measured = flows.swap_write_amplification
    found = []
    if measured is not None and measured > WAF_MAX:
        found.append(Evidence("write amplification of the swap device", measured, "ratio"))
    elif measured is None and simulated is not None and simulated.value > WAF_MAX:
        found.append(Evidence("write amplification of the swap device, simulated at its use", simulated.value, "ratio"))
    has_cutoff = not drives or any(not drive.is_zram and not drive.is_zoned for drive in drives)
    if has_cutoff and flows.swap_used_ratio is not None and flows.swap_used_ratio > SWAP_USED_MAX:
        found.append(Evidence("swap space in use", flows.swap_used_ratio, "share"))
    if not found:
        return None
    return Advice(
        rule="F11",
        title="Give swap more room",
        changes=(),
        evidence=tuple(found),
        effect=_effect(simulated),
        risk="Cost of the device.",
        verify="Write amplification and the 99th percentile of swap-in time fall.",
        note=" ".join([*([CUTOFF] if has_cutoff else []), *_on_trim(drives), KEEP_OUT]),
    )


def _rotating(facts: Facts) -> Advice | None:
    """Pages come back from a disk that seeks for each of them."""
    drives, rate = facts.host.swap_drives, facts.flows.swapped_in_pages_per_s
    used = [drive for drive in drives if drive.rotational is True and (drive.used_ratio or 0.0) > 0.0]
    if not used or not rate:
        return None
    return Advice(
        rule="F11",
        title="Take swap off the rotating disk",
        changes=(),
        evidence=(
            Evidence("pages swapped in", rate, "pages/s"),
            Evidence("rotating swap disks in use", len(used), "disks"),
        ),
        effect="A swap-in waits for a seek, milliseconds, not a tenth of one. What services gain is not counted.",
        risk="Cost of a solid-state drive; zram takes DRAM and CPU time.",
        verify="The 99th percentile of swap-in time and memory pressure (PSI) fall.",
        note=f"Swap to a solid-state drive or zram with a higher priority. {KEEP_OUT}",
    )


def _simulated(facts: Facts) -> Amplification | None:
    """What the model says of the drives at their use; None while nothing is swapped out or a drive is not known."""
    flows, drives = facts.flows, [drive for drive in facts.host.swap_drives if not drive.is_zram]
    known = all(drive.is_zoned or drive.is_block_flash for drive in drives)
    if not drives or not known or not flows.swapped_out_pages_per_s or flows.swap_used_ratio is None:
        return None
    zoned = all(drive.is_zoned for drive in drives)
    return amplification_at("zns" if zoned else "block", min(max(flows.swap_used_ratio, 0.0), 1.0))


def _effect(simulated: Amplification | None) -> str:
    stays = "Clean copies stay in swap, so that the same page is not written again."
    if simulated is None:
        return f"{stays} How many pages that saves is not counted."
    half = amplification_at("block", SWAP_USED_MAX)
    return (
        f"{stays} Simulated writes to flash for each page swapped out: {simulated.value:.1f} ({simulated.low:.1f} to "
        f"{simulated.high:.1f}) at {simulated.utilisation:.0%} use, {half.value:.1f} ({half.low:.1f} to "
        f"{half.high:.1f}) on a block SSD at half use; the drive lasts longer by their ratio."
    )


def _on_trim(drives: tuple[SwapDrive, ...]) -> list[str]:
    flash = [drive for drive in drives if drive.is_block_flash]
    if not flash or any(drive.discard is not False for drive in flash):
        return []
    return ["The device takes no TRIM; little is lost, since Linux trims 512 free slots at once, which are rare."]
