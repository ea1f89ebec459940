"""What `tierscope up` was asked for: apart from what it starts, which takes a second of a core to load."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Options:
    """What the user asked `up` for."""

    port: int
    exact: bool = False
    """Whether that very port was asked for, and no other one will do."""
    agent: bool = True
    nodes: int = 0
    """Further database servers of the demo, at least; those that were made before start too."""
    private: bool = False
    """Whether what is said goes to a terminal, and into no file."""
