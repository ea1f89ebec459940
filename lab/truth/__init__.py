"""The judge: fleets of the twin, whose truth is known, sent to an instance of its own, and its answers compared."""
