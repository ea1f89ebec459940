"""Ways to log in, and the pages behind one-time links. Opening a link uses nothing up: only the button does."""

import html
import re
from collections.abc import Callable, Coroutine
from typing import Annotated, Any
from urllib.parse import parse_qs

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.routing import APIRoute
from pydantic import Field

from tierscope.api.access.endpoints import enter_page
from tierscope.api.base.figures import Model
from tierscope.api.base.frontend import dashboard_index
from tierscope.api.base.permissions import requires
from tierscope.api.base.use_cases import use_cases
from tierscope.core.errors import UnknownToken, WeakPassword
from tierscope.domain.access.passwords import MIN_LENGTH


class LinkRoute(APIRoute):
    """A route that people follow links to: one that is void is told on a page to who asks for pages."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The route's answer, or why a link did nothing; a program gets that error as from any other address."""
        answer = super().get_route_handler()

        async def answer_or_tell(request: Request) -> Response:
            try:
                return await answer(request)
            except UnknownToken as error:
                if "text/html" not in request.headers.get("Accept", ""):
                    raise
                return _void_page(error)

        return answer_or_tell


router = APIRouter(dependencies=[Depends(requires("public"))], tags=["access"], route_class=LinkRoute)

OIDC_START = "/v1/login/oidc/start"
_PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>
:root{{color-scheme:light dark;--page:#f4f6f7;--surface:#fff;--line:#dfe4e8;--text:#1d272e;--dimmed:#5a6872;
--accent:#128171;--on:#fff;--critical:#b3261e}}
@media(prefers-color-scheme:dark){{:root{{--page:#0e1317;--surface:#151b20;--line:#263038;--text:#dfe6ea;--dimmed:#93a1aa;
--critical:#ff8a80}}}}
body{{margin:0;padding:12vh 16px 0;background:var(--page);color:var(--text);
font:14px/1.55 'Inter Variable',system-ui,-apple-system,'Segoe UI',sans-serif}}
main{{display:grid;gap:14px;max-width:360px;margin:auto}}a{{color:inherit}}
h1{{display:flex;align-items:center;gap:10px;margin:0;font-size:20px;font-weight:600}}
form{{display:grid;gap:12px;padding:16px;border:1px solid var(--line);border-radius:6px;background:var(--surface)}}
p{{margin:0}}p.note{{font-size:13px;color:var(--dimmed)}}p[role=alert]{{color:var(--critical)}}
input,button{{width:100%;box-sizing:border-box;padding:8px 12px;border:1px solid var(--line);border-radius:4px}}
input,button{{font:inherit}}
input{{background:var(--page);color:inherit}}
button{{border-color:transparent;background:var(--accent);color:var(--on);font-weight:600;cursor:pointer}}
:focus-visible{{outline:2px solid var(--accent);outline-offset:2px}}
</style>
<main><h1><svg width="22" height="22" viewBox="0 0 20 20" aria-hidden="true">
<rect x="1" y="2" width="18" height="4" rx="1.2" fill="#e4572e"/>
<rect x="1" y="8" width="18" height="4" rx="1.2" fill="#f0b84f"/>
<rect x="1" y="14" width="18" height="4" rx="1.2" fill="#4a7fc1"/></svg>{title}</h1>{body}</main></html>"""
_LOG_IN = """<form method="post" action="/login"><input type="hidden" name="link" value="{link}">
<p>This link logs you in once.</p><button type="submit" autofocus>Log in</button></form>
<p class="note">Opening this page uses nothing up; only the button does.</p>"""
_FORM_OF_LINK = """{problem}<form method="post" action="/login/password">
<input type="hidden" name="link" value="{link}">
<input type="hidden" name="username" autocomplete="username" value="{name}">
<p><label for="new">A password for <b>{name}</b>, of at least {length} characters.
Several unrelated words do well.</label></p>
<input id="new" type="password" name="password" autocomplete="new-password" minlength="{length}" maxlength="256"
 required autofocus><button type="submit">Set password and log in</button></form>"""
_VOID = """<p role="alert">{cause}</p><p>{next_step}</p>
<p class="note"><a href="/login">Other ways to log in</a></p>"""


class OidcMethod(Model):
    """The button of the OpenID provider."""

    label: str
    start_url: str = Field(description="A page address, with `?next=` where to go afterwards.")


class LoginMethods(Model):
    """How people log in here. One-time links (`tierscope token link`) always do."""

    password: bool
    oidc: OidcMethod | None


@router.get("/v1/login/methods", summary="How people log in here")
def read_login_methods(request: Request) -> LoginMethods:
    """Tell the login page what to offer."""
    settings = use_cases(request).settings
    oidc = None if settings.oidc.issuer is None else OidcMethod(label=settings.oidc.label, start_url=OIDC_START)
    return LoginMethods(password=settings.password_login, oidc=oidc)


@router.get("/login", include_in_schema=False)
def show_login(request: Request, link: Annotated[str | None, Query(max_length=256)] = None) -> Response:
    """Show the button that uses the link; without one, the dashboard's own login page."""
    if link is None:
        return dashboard_index(request)
    return _page("Log in to Tierscope", _LOG_IN.format(link=html.escape(link, quote=True)))


@router.post("/login", include_in_schema=False)
async def use_link(request: Request) -> Response:
    """Trade the link for a session cookie and go to the dashboard."""
    form = await _read_form(request)
    if not form.get("link"):
        raise UnknownToken("the form carries no login link")
    token, _ = await run_in_threadpool(use_cases(request).access.redeem_link, form["link"])
    return await run_in_threadpool(enter_page, request, token.secret, "/")


@router.get("/login/password", include_in_schema=False)
def show_set_password(request: Request, link: Annotated[str, Query(max_length=256)]) -> Response:
    """Show the form that sets a password with a one-time link."""
    return _password_page(link, use_cases(request).passwords.user_of_link(link).name)


@router.post("/login/password", include_in_schema=False)
async def set_password(request: Request) -> Response:
    """Set the password, log in and go to the dashboard; a password that is not accepted is asked for again."""
    form = await _read_form(request)
    link = form.get("link", "")
    try:
        token, _ = await use_cases(request).passwords.set_by_link(link, form.get("password", ""))
    except WeakPassword as error:
        user = await run_in_threadpool(use_cases(request).passwords.user_of_link, link)
        return _password_page(link, user.name, problem=error)
    return await run_in_threadpool(enter_page, request, token.secret, "/")


def _password_page(link: str, name: str, *, problem: WeakPassword | None = None) -> Response:
    said = "" if problem is None else f'<p role="alert">{html.escape(problem.detail)}</p>'
    body = _FORM_OF_LINK.format(
        problem=said, link=html.escape(link, quote=True), name=html.escape(name, quote=True), length=MIN_LENGTH
    )
    return _page("Set a password for Tierscope", body, status=200 if problem is None else problem.status)


def _void_page(error: UnknownToken) -> Response:
    next_step = re.sub("`(.+?)`", r"<code>\1</code>", html.escape(error.next_step))
    cause = html.escape(error.detail[:1].upper() + error.detail[1:])
    return _page("Log in to Tierscope", _VOID.format(cause=f"{cause}.", next_step=next_step), status=error.status)


def _page(title: str, body: str, *, status: int = 200) -> Response:
    content = _PAGE.format(title=title, body=body)
    return Response(content, status_code=status, media_type="text/html", headers={"Cache-Control": "no-store"})


async def _read_form(request: Request) -> dict[str, str]:
    body = (await request.body()).decode("utf-8", errors="replace")
    return {name: values[0] for name, values in parse_qs(body).items()}
