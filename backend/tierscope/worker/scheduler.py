"""The scheduler: Celery's own, which goes on where the clock of the machine was set back."""

from celery.beat import PersistentScheduler


class SteadyScheduler(PersistentScheduler):  # type: ignore[misc]  # it has no types
    """Takes a run that lies ahead of the clock for one of now.

    When each task ran last is kept in a file, by the machine's clock. Celery would wait until that time comes again, be
    it hours or years, and after a restart too.
    """

    def tick(self) -> float:
        """Starts what is due; the seconds until the next look."""
        for entry in self.schedule.values():
            now = entry.default_now()
            if entry.last_run_at > now:
                entry.last_run_at = now
                self._heap = None  # is made anew from when each ran last
        return float(super().tick())
