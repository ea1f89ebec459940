"""Says with each answer how many servers of the fleet it is from, where the fleet is on several."""

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

HEADER = "X-Nodes"
AWAY_HEADER = "X-Nodes-Away"


class NodesMiddleware:
    """Adds `X-Nodes: 7 of 8` and, where some are away, their names."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes a request on."""
        held = None if scope["type"] != "http" else getattr(scope["app"].state, "use_cases", None)
        if held is None or not held.node_watch.shown:
            await self._app(scope, receive, send)
            return
        n_nodes, away = len(held.node_watch.shown), held.node_watch.away

        async def send_naming(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers[HEADER] = f"{n_nodes - len(away)} of {n_nodes}"
                if away:
                    headers[AWAY_HEADER] = ", ".join(away)
            await send(message)

        await self._app(scope, receive, send_naming)
