"""What beat starts, and how often. A wake-up that nobody has taken when the next one is due is dropped."""

DRAIN_SECONDS = 5
RETENTION_SECONDS = 3600
ADVICE_SECONDS = 300
"""Advice is refreshed hourly, and sooner where there are new hosts and services to judge."""
EXPERIMENTS_SECONDS = 300
FLEET_STATISTICS_SECONDS = 300
NOTIFICATIONS_SECONDS = 5
SWEEPS_SECONDS = 5
ALERTS_SECONDS = 15
"""Minutes are judged as they become complete; most runs find none."""
CAPACITY_SECONDS = 300
"""Most runs find nothing to do: a day is made when it has ended, and every half an hour while it lasts."""
REPORTS_SECONDS = 60

SCHEDULE = {
    "capacity.update": {
        "task": "capacity.update",
        "schedule": CAPACITY_SECONDS,
        "options": {"expires": CAPACITY_SECONDS},
    },
    "alerts.evaluate": {
        "task": "alerts.evaluate",
        "schedule": ALERTS_SECONDS,
        "options": {"expires": ALERTS_SECONDS},
    },
    "reports.deliver": {
        "task": "reports.deliver",
        "schedule": REPORTS_SECONDS,
        "options": {"expires": REPORTS_SECONDS},
    },
    "rebuild.drain": {
        "task": "rebuild.drain",
        "schedule": DRAIN_SECONDS,
        "options": {"expires": DRAIN_SECONDS},
    },
    "retention.keep": {
        "task": "retention.keep",
        "schedule": RETENTION_SECONDS,
        "options": {"expires": RETENTION_SECONDS},
    },
    "advice.refresh": {
        "task": "advice.refresh",
        "schedule": ADVICE_SECONDS,
        "options": {"expires": ADVICE_SECONDS},
    },
    "experiments.freeze": {
        "task": "experiments.freeze",
        "schedule": EXPERIMENTS_SECONDS,
        "options": {"expires": EXPERIMENTS_SECONDS},
    },
    "fleet_statistics.update": {
        "task": "fleet_statistics.update",
        "schedule": FLEET_STATISTICS_SECONDS,
        "options": {"expires": FLEET_STATISTICS_SECONDS},
    },
    "sweeps.run": {
        "task": "sweeps.run",
        "schedule": SWEEPS_SECONDS,
        "options": {"expires": SWEEPS_SECONDS},
    },
    "notifications.deliver": {
        "task": "notifications.deliver",
        "schedule": NOTIFICATIONS_SECONDS,
        "options": {"expires": NOTIFICATIONS_SECONDS},
    },
}
