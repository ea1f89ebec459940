"""What the figures of one sweep have in common: their window, their trace, and that they are simulated."""

from dataclasses import dataclass, replace

from tierscope.domain.base.figures import Figure, Window, absent
from tierscope.usecases.simulate.load import Facts

_SIMULATED = "Simulated: what this policy would do with the accesses of the trace."


@dataclass(frozen=True, slots=True)
class Basis:
    """What the figures of one sweep have in common."""

    facts: Facts | None
    window: Window | None

    def figure(self, definition: str, unit: str, value: float | None, reason: str) -> Figure:
        """A simulated figure; without a value the reason."""
        if value is None:
            return replace(
                absent(definition, unit, "not_enough_data", reason, window=self.window, method="simulated"),
                warnings=(_SIMULATED,),
            )
        facts = self.facts
        return Figure(
            definition,
            "ok",
            value,
            unit,
            method="simulated",
            window=self.window,
            n_hosts=facts.n_hosts if facts else None,
            n_intervals=facts.intervals if facts else None,
            n_samples=facts.n_samples if facts else None,
            coverage=facts.coverage if facts else None,
            grounding="A placement policies as their papers and kernels describe them",
            warnings=(_SIMULATED,),
        )
