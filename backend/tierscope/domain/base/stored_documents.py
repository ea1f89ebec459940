"""What reading a stored document of any shape can bring about, and how its problem is named."""

WRONG_SHAPE = (ValueError, TypeError, KeyError, AttributeError)
"""Errors of a reader that takes a document to have its shape."""


def describe_problem(error: Exception) -> str:
    """Why a document cannot be read. A plain ValueError says it itself; its subclasses speak of the program."""
    return str(error) if type(error) is ValueError else "a field is missing or has another shape"
