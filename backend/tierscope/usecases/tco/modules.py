"""Which DRAM modules a host is built of, and what they cost per GB: large ones cost far more than small ones."""

from tierscope.core.errors import Unprocessable
from tierscope.usecases.tco.scenario_documents import HostDocument, ModuleDocument, PriceDocument, ScenarioDocument


def module_of(path: str, host: HostDocument, document: ScenarioDocument) -> ModuleDocument | None:
    """The modules of a host: those that it names, else the smallest that its slots hold; None where none are priced.

    Raises:
        Unprocessable: no module that is priced has this size, or the slots hold less than the host's DRAM.
    """
    modules = sorted(document.prices.modules, key=lambda module: module.gb)
    for module in modules:
        if module.currency not in (None, document.currency):
            raise Unprocessable(
                f"prices.modules: the price is in {module.currency}, the scenario in {document.currency}",
                next_step="Convert it at a rate that you stand for, and say so in its source.",
            )
    wanted = host.dram_module_gb
    if wanted is not None:
        named = next((module for module in modules if module.gb == wanted), None)
        if named is None:
            sizes = ", ".join(f"{module.gb:g}" for module in modules) or "none"
            raise Unprocessable(
                f"{path}.dram_module_gb: no module of {wanted:g} GB is priced; prices.modules has {sizes}",
                next_step="Add its price per GB under prices.modules.",
            )
        return named
    slots = next(sku.dimm_slots for sku in document.skus if sku.name == host.sku)
    if not modules or slots is None:
        return None
    fitting = next((module for module in modules if module.gb * slots >= host.dram_gb), None)
    if fitting is None:
        raise Unprocessable(
            f"{path}.dram_gb: {host.dram_gb:g} GiB do not fit into {slots} slots of {modules[-1].gb:g} GB modules",
            next_step="Add the price of larger modules under prices.modules, or another sku.",
        )
    return fitting


def dram_price(document: ScenarioDocument) -> PriceDocument | None:
    """The stated price of DRAM; where modules alone are priced, that of the baseline's modules."""
    return document.prices.dram or module_of("baseline", document.baseline, document)
