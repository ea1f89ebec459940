"""The page behind a one-time login link. Opening the link uses nothing up: only the button does."""

import html
from typing import Annotated
from urllib.parse import parse_qs

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.concurrency import run_in_threadpool

from tierscope.api.access import set_session_cookie
from tierscope.api.callers import access_of
from tierscope.api.permissions import requires
from tierscope.core.errors import TooLarge, UnknownToken

router = APIRouter(dependencies=[Depends(requires("public"))], include_in_schema=False)

MAX_FORM_BYTES = 4096
_PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Log in to Tierscope</title>
<style>body{{font:16px system-ui;margin:20vh auto;max-width:24rem;text-align:center;color-scheme:light dark}}
button{{font:inherit;padding:.6em 2em}}</style>
<h1>Tierscope</h1><form method="post" action="/login"><input type="hidden" name="link" value="{link}">
<button type="submit" autofocus>Log in</button></form></html>"""


@router.get("/login")
def show_login(link: Annotated[str, Query(max_length=256)]) -> Response:
    """Show the button that uses the link."""
    page = _PAGE.format(link=html.escape(link, quote=True))
    return Response(page, media_type="text/html", headers={"Cache-Control": "no-store"})


@router.post("/login")
async def use_link(request: Request) -> Response:
    """Trade the link for a session cookie and go to the dashboard."""
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > MAX_FORM_BYTES:
            raise TooLarge("the login form is larger than 4 KiB")
    link = parse_qs(body.decode("utf-8", errors="replace")).get("link", [""])[0]
    if not link:
        raise UnknownToken("the form carries no login link")
    token, _ = await run_in_threadpool(access_of(request).redeem_link, link)
    response = Response(status_code=303, headers={"Location": "/", "Cache-Control": "no-store"})
    set_session_cookie(request, response, token.secret)
    return response
