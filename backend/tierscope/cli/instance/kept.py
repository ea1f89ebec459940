"""Lists of words that an instance keeps in a file of its own, for this start and the ones after it."""

import json
from collections.abc import Sequence
from pathlib import Path

from tierscope.core.embedded.private_files import write_private


def keep_words(path: Path, words: Sequence[str]) -> None:
    """Keep a list of words. Raises OSError."""
    write_private(path, json.dumps(list(words)) + "\n")


def kept_words(path: Path) -> list[str]:
    """The words that were kept; none where nothing was, or nothing that can be read."""
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []
    return [word for word in kept if isinstance(word, str)] if isinstance(kept, list) else []
