"""What commands that judge swap refuse of the options that they share."""

from collections.abc import Sequence

from tierscope.cli.base.exits import BAD_USAGE, fail

DEVICES = ("block", "zns", "zram")
MOST_LOSS = 0.5


def check_loss_target(loss_target: float) -> None:
    """End the command where no advice is given at this loss."""
    if not 0.0 < loss_target <= MOST_LOSS:
        fail("a loss target is above 0 and at most 0.5", next_step="write 1 % as 0.01", status=BAD_USAGE)


def check_device(device: str, devices: Sequence[str] = DEVICES) -> None:
    """End the command where it knows no such swap device."""
    if device not in devices:
        fail(f"there is no swap device {device[:40]!r}", next_step=f"use one of {', '.join(devices)}", status=BAD_USAGE)
