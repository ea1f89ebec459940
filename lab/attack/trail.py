"""What a program has written into its log since somebody looked last."""

from dataclasses import dataclass
from pathlib import Path

_MOST_CHARS = 600


@dataclass(slots=True)
class Trail:
    """A log that is read on from where the last look ended."""

    path: Path
    _read_bytes: int = 0

    def news(self) -> str:
        """What is new in it."""
        if not self.path.exists():
            return ""
        with self.path.open("rb") as log:
            log.seek(self._read_bytes)
            text = log.read()
        self._read_bytes += len(text)
        return text.decode(errors="replace")


def tracebacks(text: str) -> list[str]:
    """The end of each traceback in a log: the lines that say where, and the cause."""
    parts = text.split("Traceback (most recent call last)")[1:]
    return [f"...{part.strip()[-_MOST_CHARS:]}" for part in parts]
