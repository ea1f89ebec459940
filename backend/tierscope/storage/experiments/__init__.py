"""Before and after a change, canary hosts against control hosts."""
