"""The task that moves bodies of tiles and page samples to the object store."""

from celery import shared_task

from tierscope.core.clock import utc_now
from tierscope.core.objects.open import open_store
from tierscope.core.settings import Settings
from tierscope.usecases.objects.by_node import keep_objects
from tierscope.usecases.objects.mover import MoveObjects
from tierscope.worker.resources import worker_nodes


@shared_task(name="objects.move")
def move() -> int:
    """Move what is due, and delete what is given up; how many objects were made. Nothing without an object store."""
    store = open_store(Settings())
    if store is None:
        return 0
    return sum(worker_nodes().on_each(lambda own: MoveObjects(own, store, utc_now).run().objects))


@shared_task(name="objects.keep")
def keep() -> int:
    """The same for all hours that are kept, and delete what lies there unlisted; how many of those."""
    store = open_store(Settings())
    return 0 if store is None else keep_objects(worker_nodes(), store, utc_now)
