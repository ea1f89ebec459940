"""Reads of pods: those of a host, and those of a service."""

from tierscope.core.database import ReadSession
from tierscope.domain.base.pages import Page
from tierscope.domain.fleet.pods import Pod
from tierscope.storage.fleet.pods import list_pods
from tierscope.usecases.base.context import ContextUseCase
from tierscope.usecases.base.subjects import decode_cursor, encode_cursor, require_host, require_service


class PodReads(ContextUseCase):
    """Reads of pods."""

    def of_host(self, host_id: str, *, limit: int, cursor: str | None) -> Page[Pod]:
        """Pods that run on a host, by namespace and name.

        Raises:
            NotFound: there is no such host.
            BadRequest: the cursor is not one of ours.
        """
        with self._context.database.read() as session:
            require_host(session, host_id)
            return _page(session, host=host_id, service=None, limit=limit, cursor=cursor)

    def of_service(self, service_id: str, *, limit: int, cursor: str | None) -> Page[Pod]:
        """Pods of a service on all its hosts, by namespace and name.

        Raises:
            NotFound: there is no such service.
            BadRequest: the cursor is not one of ours.
        """
        with self._context.database.read() as session:
            service = require_service(session, service_id)
            return _page(session, host=None, service=service.id, limit=limit, cursor=cursor)


def _page(session: ReadSession, *, host: str | None, service: int | None, limit: int, cursor: str | None) -> Page[Pod]:
    after = None
    if cursor is not None:
        namespace, name, uid, number = decode_cursor(cursor, (str, str, str, int))
        after = (str(namespace), str(name), str(uid), int(number))
    found = list_pods(session, host=host, service=service, after=after, limit=limit + 1)
    last = found[limit - 1][1] if len(found) > limit else None
    return Page(
        items=tuple(pod for pod, _ in found[:limit]),
        next_cursor=None if last is None else encode_cursor(*last),
    )
