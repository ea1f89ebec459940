"""The compiled core that reads, packs and folds samples. Without it nothing is stored."""

from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING

from tierscope.core.errors import ConfigurationError

if TYPE_CHECKING:
    from tierscope_simcore import SeriesIndex as SeriesIndex  # noqa: PLC0414 - others take the types from here
    from tierscope_simcore import WriteRequest as WriteRequest  # noqa: PLC0414 - the same


@cache
def load_core() -> ModuleType:
    """The compiled core.

    Raises:
        ConfigurationError: it is not installed, or older than this code.
    """
    try:
        import tierscope_simcore  # noqa: PLC0415 - the rest of the product runs without it
    except ImportError as error:
        raise ConfigurationError(
            "samples of Prometheus need the compiled core, which is not installed",
            next_step="Run `make simcore`, or install the wheel `tierscope-simcore`.",
        ) from error
    read = getattr(getattr(tierscope_simcore, "SeriesIndex", None), "read", None)
    # Cores before this release have the function, with one version or with another function for each.
    if "version" not in (getattr(read, "__text_signature__", None) or ""):
        raise ConfigurationError(
            "the compiled core is older than this release and cannot read samples of Prometheus",
            next_step="Run `make simcore`, or install the wheel `tierscope-simcore` of this release.",
        )
    return tierscope_simcore
