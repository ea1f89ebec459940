"""The compiled core (`tierscope_simcore`). Storing batches, folding packs of heat and what names it need it."""

from types import ModuleType


def compiled_core(needed: str, purpose: str) -> ModuleType:
    """The compiled core, which has what is `needed`.

    Args:
        needed: a name in it.
        purpose: what is done with it, as the beginning of the sentence that says it is not there.

    Raises:
        RuntimeError: it is not built, or is older than this program.
    """
    try:
        import tierscope_simcore  # noqa: PLC0415 - the rest of the product runs without it
    except ModuleNotFoundError as error:
        raise RuntimeError(f"{purpose} the compiled core, which is not built: run `make simcore`") from error
    if not hasattr(tierscope_simcore, needed):
        raise RuntimeError("the compiled core is older than this program: run `make simcore`")
    return tierscope_simcore
