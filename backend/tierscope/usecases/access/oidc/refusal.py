"""Why nobody was logged in."""

from typing import Literal

Reason = Literal["expired", "refused", "failed", "not-allowed", "disabled", "unreachable"]


class LoginRefused(Exception):
    """A login through the provider that came to nothing. `reason` is for the page, `detail` for the log."""

    def __init__(self, reason: Reason, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail
