"""The task that sends the service's metrics to a collector of OpenTelemetry."""

from celery import shared_task

from tierscope.core.clock import utc_now
from tierscope.core.settings import Settings
from tierscope.usecases.base.context import ReadContext
from tierscope.worker.resources import worker_database


@shared_task(name="telemetry.push")
def push() -> dict[str, int] | None:
    """Send them once; how many, None where no collector is named. What fails is sent anew by the next run."""
    settings = Settings()
    if settings.otlp.endpoint is None:
        return None
    # Only where a collector is named: nobody else needs what this imports.
    from tierscope.usecases.operate.telemetry.push import MetricsPush  # noqa: PLC0415

    return {"samples": MetricsPush(ReadContext(worker_database(), utc_now, settings)).run()}
