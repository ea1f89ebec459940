"""Where alerts are sent: receivers, routes, inhibitions."""

from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from pydantic import ConfigDict, Field

from tierscope.api.base.answers import Answer, answer
from tierscope.api.base.figures import MAX_COUNT, Model
from tierscope.api.base.permissions import requires
from tierscope.api.base.use_cases import use
from tierscope.domain.notifications.receivers import Kind
from tierscope.usecases.access.tokens import Caller
from tierscope.usecases.notifications.routes import AlertRoutes, ReceiverSecret, TestAnswer
from tierscope.usecases.notifications.silences import LabelMatcher

Seconds = Annotated[float | None, Field(ge=0, le=2_592_000)]
Label = Annotated[str, Field(min_length=1, max_length=200)]


class ReceiverSettings(Model):
    """Settings of a receiver; docs/howto/alert-routes.md says which kind takes which.

    A secret is never written here: `${TIERSCOPE_SECRET_...}` names a variable of the service's environment, a field
    that ends in `_file` names a file in its directory of secrets.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    url: str | None = None
    url_file: str | None = None
    token: str | None = None
    token_file: str | None = None
    user: str | None = None
    password: str | None = None
    password_file: str | None = None
    routing_key: str | None = None
    routing_key_file: str | None = None
    channel: str | None = None
    to: list[str] | None = Field(default=None, max_length=50, description="Mail addresses.")
    resend_seconds: float | None = Field(default=None, description="Of Alertmanager: how often alerts are sent again.")
    send_resolved: bool | None = Field(default=None, description="Absent = true.")


class ReceiverRequest(Model):
    """A receiver."""

    name: str = Field(min_length=1, max_length=100)
    kind: Kind
    settings: ReceiverSettings


class Receiver(ReceiverRequest):
    """A receiver as it is shown. What its settings hold are references, never values of secrets."""

    secrets: list[ReceiverSecret]


class AlertRoute(Model):
    """Alerts that meet all matchers go to the receiver. What is null is as in the route around it."""

    model_config = ConfigDict(extra="forbid", frozen=True, serialize_by_alias=True)

    matchers: list[LabelMatcher] = Field(default=[], max_length=50)
    receiver: str | None = None
    group_by: list[Label] | None = Field(
        default=None, max_length=50, description="Labels; `...` = every alert by itself. Outermost: alertname."
    )
    group_wait_seconds: Seconds = Field(default=None, description="Outermost: 30.")
    group_interval_seconds: Seconds = Field(default=None, description="Outermost: 300.")
    repeat_interval_seconds: Seconds = Field(default=None, description="Outermost: 14400.")
    continue_: bool = Field(default=False, alias="continue", description="Try the routes after this one too.")
    routes: list["AlertRoute"] = Field(default=[], max_length=500)


class Inhibition(Model):
    """Alerts of the target are held back while one of the source fires with the same values of `equal`."""

    source_matchers: list[LabelMatcher] = Field(min_length=1, max_length=50)
    target_matchers: list[LabelMatcher] = Field(min_length=1, max_length=50)
    equal: list[Label] = Field(default=[], max_length=50)


class AlertRoutesRequest(Model):
    """The whole configuration. With `version`, as it was read, nothing is lost that somebody else changed meanwhile."""

    receivers: list[ReceiverRequest] = Field(default=[], max_length=200)
    routes: list[AlertRoute] = Field(default=[], max_length=500)
    inhibitions: list[Inhibition] = Field(default=[], max_length=200)
    version: int | None = Field(default=None, ge=0, le=MAX_COUNT)


class AlertRouting(Model):
    """The configuration in force; version 0 = none was stored yet, and nothing is sent."""

    receivers: list[Receiver]
    routes: list[AlertRoute]
    inhibitions: list[Inhibition]
    version: int
    updated_at: datetime | None
    updated_by: str | None


class TestRequest(Model):
    """Which receiver to try."""

    receiver: str = Field(max_length=100)


router = APIRouter(prefix="/v1/alert-routes", tags=["alerts"])
Routes = Annotated[AlertRoutes, Depends(use(lambda held: held.alert_routes))]
Writer = Annotated[Caller, Depends(requires("write:routes"))]


@router.get(
    "",
    dependencies=[Depends(requires("read:routes"))],
    summary="Receivers, routes and inhibitions",
)
def read_alert_routes(request: Request, routes: Routes) -> Answer[AlertRouting]:
    """Where alerts are sent, without secrets."""
    return answer(request, AlertRouting, AlertRouting.model_validate(routes.read(), from_attributes=True))


@router.put("", summary="Replace receivers, routes and inhibitions")
def replace_alert_routes(
    request: Request, routes: Routes, body: AlertRoutesRequest, caller: Writer
) -> Answer[AlertRouting]:
    """Alerts that fire now go through the new routes; groups that are the same are not flushed again."""
    document: dict[str, Any] = body.model_dump(by_alias=True, exclude={"version"})
    for receiver in document["receivers"]:
        receiver["settings"] = {field: value for field, value in receiver["settings"].items() if value is not None}
    replaced = routes.replace(document, version=body.version, actor=caller.name)
    return answer(request, AlertRouting, AlertRouting.model_validate(replaced, from_attributes=True))


@router.post("/test", summary="Send a test to a receiver")
def test_alert_route(routes: Routes, body: TestRequest, caller: Writer) -> TestAnswer:
    """A made-up alert, sent now and once. It stands in the log."""
    return routes.test(body.receiver, actor=caller.name)
