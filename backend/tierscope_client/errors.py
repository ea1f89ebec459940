"""What can go wrong with a call: the service answers with a problem (RFC 9457), or it does not answer."""

import httpx


class ProblemError(Exception):
    """The service refused the request. `cause` says why in this case, `next_step` what can be done."""

    def __init__(self, *, status: int, slug: str, title: str, cause: str, next_step: str) -> None:
        super().__init__(f"{status} {slug}: {cause} ({next_step})" if next_step else f"{status} {slug}: {cause}")
        self.status = status
        self.slug = slug
        """The last part of the problem's type, as docs/problems.md lists them; `unknown` where the body is none."""
        self.title = title
        self.cause = cause
        self.next_step = next_step


class UnreachableError(Exception):
    """Nobody answered, or not in time."""


def problem_of(response: httpx.Response) -> ProblemError:
    """The problem that an answer of 400 and above tells; what a proxy in between says, where it is none."""
    try:
        body = response.json()
    except ValueError:
        body = None
    told = body if isinstance(body, dict) else {}
    return ProblemError(
        status=response.status_code,
        slug=str(told.get("type", "unknown")).rpartition("/")[2],
        title=str(told.get("title", response.reason_phrase)),
        cause=str(told.get("detail", response.text[:200])),
        next_step=str(told.get("next_step", "")),
    )
