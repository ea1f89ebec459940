"""The built dashboard and the built documentation: files as they are, and the dashboard's index for its addresses."""

from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import FileResponse, RedirectResponse

import tierscope
from tierscope.api.base.permissions import requires
from tierscope.api.base.use_cases import use_cases
from tierscope.core.errors import NotFound

router = APIRouter(include_in_schema=False)

_PACKAGE = Path(tierscope.__file__).resolve().parent
_YEAR = "public, max-age=31536000, immutable"
RESERVED = ("v1/", "api/", "healthz", "readyz")


def frontend_dir(configured: Path | None) -> Path | None:
    """Returns the directory of the built dashboard: the setting, the installed one, the source tree's."""
    for candidate in (configured, _PACKAGE / "_frontend", _PACKAGE.parent.parent / "frontend" / "dist"):
        if candidate is not None and (candidate / "index.html").is_file():
            return candidate.resolve()
    return None


def docs_dir() -> Path | None:
    """Returns the directory of the built documentation: the installed one, or the source tree's."""
    for candidate in (_PACKAGE / "_docs", _PACKAGE.parent.parent / "docs" / "_site"):
        if (candidate / "index.html").is_file():
            return candidate.resolve()
    return None


@router.get("/docs")
def read_docs(_: Annotated[None, Depends(requires("public"))]) -> Response:
    """The documentation's first page, at an address to which its links are relative."""
    return RedirectResponse("/docs/", status_code=307)


@router.get("/docs/{path:path}")
def read_docs_file(path: str, _: Annotated[None, Depends(requires("public"))]) -> Response:
    """A file of the documentation."""
    root = docs_dir()
    if root is None:
        raise NotFound("the documentation is not built", next_step="Run `make docs`, or read docs/ as Markdown.")
    wanted = _file(root, path or "index.html")
    if wanted is None:
        raise NotFound(f"there is no /docs/{path}", next_step="/docs/ lists all pages.")
    return FileResponse(wanted, headers={"Cache-Control": "no-cache"})


@router.get("/{path:path}")
def read_file(request: Request, path: str, _: Annotated[None, Depends(requires("public"))]) -> Response:
    """A file of the dashboard; its index where the address is one of its pages."""
    if path.startswith(RESERVED):
        raise NotFound(f"there is no /{path}", next_step="/openapi.json lists all addresses.")
    root = _root(request)
    wanted = _file(root, path)
    if wanted is not None:
        # Vite names its assets by content.
        caching = _YEAR if path.startswith("assets/") else "no-cache"
        return FileResponse(wanted, headers={"Cache-Control": caching})
    if path.startswith("assets/"):
        raise NotFound(f"there is no /{path}")
    return _index(root)


def dashboard_index(request: Request) -> Response:
    """The page that every address of the dashboard answers with.

    Raises:
        NotFound: the dashboard is not built.
    """
    return _index(_root(request))


def _root(request: Request) -> Path:
    root = frontend_dir(use_cases(request).settings.frontend_dir)
    if root is None:
        raise NotFound("the dashboard is not built", next_step="Run `make setup`, or `npm run build` in frontend/.")
    return root


def _file(root: Path, path: str) -> Path | None:
    """The file of this name inside of `root`; None where there is none, or no file can have such a name."""
    try:
        wanted = (root / path).resolve()
        return wanted if path and wanted.is_relative_to(root) and wanted.is_file() else None
    except (OSError, ValueError):  # too long for the file system, or with a NUL
        return None


def _index(root: Path) -> Response:
    return FileResponse(root / "index.html", headers={"Cache-Control": "no-cache"})
