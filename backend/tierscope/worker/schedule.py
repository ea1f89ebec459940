"""What beat starts, and how often. A wake-up that nobody has taken when the next one is due is dropped."""

from tierscope.core.settings import Settings

DRAIN_SECONDS = 5
RETENTION_SECONDS = 3600
ADVICE_SECONDS = 60
"""Everything is judged once an hour, some of it in each run, and what is new within minutes."""
EXPERIMENTS_SECONDS = 300
FLEET_STATISTICS_SECONDS = 300
NOTIFICATIONS_SECONDS = 15
"""For what waits or is repeated: a change of an alert wakes the notifier at once."""
SWEEPS_SECONDS = 10
ALERTS_SECONDS = 15
"""Minutes are judged as they become complete; most runs find none."""
CAPACITY_SECONDS = 300
"""Most runs find nothing to do: a day is made when it has ended, and every half an hour while it lasts."""
REPORTS_SECONDS = 60
PURGES_SECONDS = 60
OBJECTS_SECONDS = 60
ALL_OBJECTS_SECONDS = 3600
HISTORY_SECONDS = 300
ALL_HISTORY_SECONDS = 3600
PUSH_SECONDS = 60

EVERY_SECONDS: dict[str, float] = {
    "capacity.update": CAPACITY_SECONDS,
    "alerts.evaluate": ALERTS_SECONDS,
    "reports.deliver": REPORTS_SECONDS,
    "purges.work": PURGES_SECONDS,
    "rebuild.drain": DRAIN_SECONDS,
    "retention.keep": RETENTION_SECONDS,
    "objects.move": OBJECTS_SECONDS,
    "objects.keep": ALL_OBJECTS_SECONDS,
    "history.publish": HISTORY_SECONDS,
    "history.look": ALL_HISTORY_SECONDS,
    "advice.refresh": ADVICE_SECONDS,
    "experiments.freeze": EXPERIMENTS_SECONDS,
    "fleet_statistics.update": FLEET_STATISTICS_SECONDS,
    "sweeps.run": SWEEPS_SECONDS,
    "notifications.deliver": NOTIFICATIONS_SECONDS,
}


def every_seconds(settings: Settings) -> dict[str, float]:
    """Seconds between starts by task, with those that settings ask for."""
    return EVERY_SECONDS if settings.otlp.endpoint is None else {**EVERY_SECONDS, "telemetry.push": PUSH_SECONDS}


def beat_schedule(settings: Settings) -> dict[str, dict[str, object]]:
    """The same as Celery takes it."""
    return {
        task: {"task": task, "schedule": seconds, "options": {"expires": seconds}}
        for task, seconds in every_seconds(settings).items()
    }
