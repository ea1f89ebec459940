"""The error tree. Every error that may reach a caller names its cause and the next step.

    TierscopeError                 500 internal
    ├── BadRequest                 400 bad-request
    │   ├── BadHost                400 bad-host
    │   └── BadOrigin              400 bad-origin
    ├── Unauthenticated            401 login-needed
    │   ├── UnknownCredential      401 unknown-credential
    │   ├── UnknownToken           401 unknown-token
    │   └── WrongLogin             401 wrong-login
    ├── Forbidden                  403 forbidden
    │   ├── WrongHost              403 wrong-host
    │   └── BadCsrf                403 bad-csrf
    ├── NotFound                   404 not-found
    ├── MethodNotAllowed           405 method-not-allowed
    ├── Conflict                   409 conflict
    │   ├── UnknownLayout          409 unknown-layout
    │   └── ClonedHost             409 cloned-host
    ├── TooLarge                   413 too-large
    │   └── InflatedTooLarge       413 inflated-too-large
    ├── UnsupportedMedia           415 unsupported-media
    ├── Unprocessable              422 invalid
    │   ├── Unreadable             422 unreadable
    │   ├── UnreadableScenario     422 unreadable-scenario
    │   ├── UnknownVersion         422 unknown-version
    │   ├── WeakPassword           422 weak-password
    │   ├── OutgoingRefused        422 outgoing-refused
    │   ├── TooManyGaps            422 too-many-gaps
    │   └── AnswerTooLarge         422 answer-too-large
    ├── TooMany                    429 too-many
    ├── BusyReading                429 busy-reading
    ├── OutgoingFailed             502 outgoing-failed
    ├── Unavailable                503 unavailable
    │   ├── Busy                   503 busy
    │   └── SlowQuery              503 slow-query
    └── ConfigurationError         500 configuration

docs/problems.md has one entry per type; a test compares the two.
"""

from collections.abc import Sequence
from typing import ClassVar

PROBLEM_BASE = "https://tierscope.dev/problems/"


class TierscopeError(Exception):
    """Base of all errors. `detail` is the cause in this case, `next_step` what the reader can do."""

    status: ClassVar[int] = 500
    slug: ClassVar[str] = "internal"
    title: ClassVar[str] = "Something failed inside the service"
    default_next_step: ClassVar[str] = "Look for this request in the log of the service."

    def __init__(self, detail: str, *, next_step: str | None = None, retry_after_seconds: int | None = None) -> None:
        super().__init__(detail)
        self.detail = detail
        self.next_step = next_step or self.default_next_step
        self.retry_after_seconds = retry_after_seconds

    @property
    def type(self) -> str:
        """The problem type, a URI listed in docs/problems.md."""
        return PROBLEM_BASE + self.slug


class ConfigurationError(TierscopeError):
    """A setting is wrong or missing."""

    slug = "configuration"
    title = "The service is not set up"
    default_next_step = "Correct the setting and start the service again."


class BadRequest(TierscopeError):
    """A parameter or the body of a request is not what the route takes."""

    status = 400
    slug = "bad-request"
    title = "The request is not understood"
    default_next_step = "Compare the request with /openapi.json."


class BadHost(BadRequest):
    """The Host header is not on the list: perhaps DNS rebinding."""

    slug = "bad-host"
    title = "The Host header is not on the list"
    default_next_step = "Add the name to TIERSCOPE_ALLOWED_HOSTS if people are to use it."


class BadOrigin(BadRequest):
    """A browser says that a page of another site sent the request."""

    slug = "bad-origin"
    title = "The Origin header is not on the list"
    default_next_step = (
        "Set TIERSCOPE_PUBLIC_URL to the dashboard's address, or add its name to TIERSCOPE_ALLOWED_HOSTS."
    )


class Unauthenticated(TierscopeError):
    """Nobody is logged in, and the route needs someone."""

    status = 401
    slug = "login-needed"
    title = "Login needed"
    default_next_step = "Open the one-time link that `tierscope token link` prints, or send an API token."


class UnknownCredential(Unauthenticated):
    """The bearer credential of an agent is missing, unknown, expired or revoked."""

    slug = "unknown-credential"
    title = "Unknown host credential"
    default_next_step = "Enrol the host again with a join token: `tierscope token join`."


class UnknownToken(Unauthenticated):
    """A join token, API token or login link is unknown, used up or expired."""

    slug = "unknown-token"
    title = "Unknown or expired token"
    default_next_step = "Make a new one with `tierscope token`."


class WrongLogin(Unauthenticated):
    """Name and password do not fit, or the user is disabled; which of them is not told."""

    slug = "wrong-login"
    title = "Name or password is wrong"
    default_next_step = "Try again, or ask an administrator for a link that sets a new password."


class Forbidden(TierscopeError):
    """The caller is known and may not do this."""

    status = 403
    slug = "forbidden"
    title = "Not allowed"
    default_next_step = "Ask an administrator for a role that includes this permission."


class WrongHost(Forbidden):
    """A batch names another host than its credential."""

    slug = "wrong-host"
    title = "The batch names another host"
    default_next_step = "Use the credential that this host got at enrolment; remove a copied state directory."


class BadCsrf(Forbidden):
    """A write from a browser without the session's CSRF token."""

    slug = "bad-csrf"
    title = "The CSRF token is missing or wrong"
    default_next_step = "Read it from GET /v1/session and send it as X-CSRF-Token."


class NotFound(TierscopeError):
    """No such thing."""

    status = 404
    slug = "not-found"
    title = "Not found"
    default_next_step = "List what there is first; ids are opaque and never reused."


class MethodNotAllowed(TierscopeError):
    """The address exists and does not take this method."""

    status = 405
    slug = "method-not-allowed"
    title = "This address does not take this method"
    default_next_step = "/openapi.json lists addresses and methods."


class Conflict(TierscopeError):
    """The request contradicts what is stored."""

    status = 409
    slug = "conflict"
    title = "Conflict with what is stored"
    default_next_step = "Read the present state and decide again."


class UnknownLayout(Conflict):
    """Counters refer to a layout that the service does not have for this host."""

    slug = "unknown-layout"
    title = "Unknown counter layout"
    default_next_step = "Send the layouts in a batch of their own, then this batch again."


class ClonedHost(Conflict):
    """Two machines send with one identity."""

    slug = "cloned-host"
    title = "Two machines use one host identity"
    default_next_step = "Remove the agent's state directory on the copy and enrol it as a host of its own."


class TooLarge(TierscopeError):
    """The body is over the limit as sent."""

    status = 413
    slug = "too-large"
    title = "The body is too large"
    default_next_step = "Split it: one batch is at most 1 MiB compressed."


class InflatedTooLarge(TooLarge):
    """The body is over the limit once inflated."""

    slug = "inflated-too-large"
    title = "The body is too large once inflated"
    default_next_step = "Split it: one batch is at most 8 MiB inflated."


class UnsupportedMedia(TierscopeError):
    """Content type or encoding is another than the route takes."""

    status = 415
    slug = "unsupported-media"
    title = "Unsupported content type or encoding"
    default_next_step = "Send application/x-protobuf with Content-Encoding: zstd."


class Unprocessable(TierscopeError):
    """The request is well formed and its values are not acceptable."""

    status = 422
    slug = "invalid"
    title = "Values are not acceptable"
    default_next_step = "Correct the values that the detail names."


class Unreadable(Unprocessable):
    """A batch is truncated, corrupt or contradicts itself."""

    slug = "unreadable"
    title = "The batch cannot be read"
    default_next_step = "Do not send it again; report the agent's version with this detail."


class UnreadableScenario(Unprocessable):
    """A scenario cannot be read; `faults` name each path and cause."""

    slug = "unreadable-scenario"
    title = "The scenario cannot be read"
    default_next_step = "Compare with docs/howto/tco.md, or let an editor check it against GET /v1/scenarios/schema."

    def __init__(self, faults: Sequence[str]) -> None:
        super().__init__("; ".join(faults))
        self.faults = tuple(faults)


class WeakPassword(Unprocessable):
    """A new password is too short or easy to guess."""

    slug = "weak-password"
    title = "The password is not accepted"
    default_next_step = "Choose at least 15 characters that are hard to guess, for example several unrelated words."


class UnknownVersion(Unprocessable):
    """A batch of a major schema version that this service does not know."""

    slug = "unknown-version"
    title = "Unknown schema version"
    default_next_step = "Upgrade the service before its agents; the agent keeps its spool meanwhile."

    def __init__(self, detail: str, *, schema_version: int = 0) -> None:
        """`schema_version` as the batch says it; 0 = it says none, as protobuf has it."""
        super().__init__(detail)
        self.schema_version = schema_version


class TooManyGaps(Unprocessable):
    """A stream skips sequence numbers again and again."""

    slug = "too-many-gaps"
    title = "The stream has too many gaps"
    default_next_step = "Start a new stream: remove the agent's spool directory."


class AnswerTooLarge(Unprocessable):
    """The answer to a question would take more memory than one may."""

    slug = "answer-too-large"
    title = "The answer needs too much memory"
    default_next_step = "Ask for a shorter window, fewer points or fewer items."


class OutgoingRefused(Unprocessable):
    """The service will not call this address."""

    slug = "outgoing-refused"
    title = "The service does not call this address"
    default_next_step = "If it is meant, add its network or host:port to TIERSCOPE_OUTGOING__ALLOW."


class TooMany(TierscopeError):
    """One caller sends more than its share."""

    status = 429
    slug = "too-many"
    title = "Too many requests"
    default_next_step = "Wait as long as Retry-After says."


class BusyReading(TierscopeError):
    """As many questions that may take much are answered, or wait, as may at once."""

    status = 429
    slug = "busy-reading"
    title = "Too many questions at once"
    default_next_step = "Ask again as Retry-After says, or for less at once."


class OutgoingFailed(TierscopeError):
    """Another service that was called did not answer, or not as it should."""

    status = 502
    slug = "outgoing-failed"
    title = "Another service did not take the call"
    default_next_step = "Check that the other service runs and can be reached from here."


class Unavailable(TierscopeError):
    """The service cannot answer now; nothing was changed."""

    status = 503
    slug = "unavailable"
    title = "The service cannot answer now"
    default_next_step = "Try again as Retry-After says; `tierscope status` shows what is down."


class HostMoving(Unavailable):
    """The rows of a host are being copied to another database server."""

    slug = "host-moving"
    title = "The host moves to another database server"
    default_next_step = "Keep the batch and send it again as Retry-After says."


class ObjectMissing(Unavailable):
    """An object that rows refer to is not there, or is not what was put."""

    slug = "object-missing"
    title = "The object store lacks an object"
    default_next_step = "See docs/operating/object-store.md: check the store's address, or restore the object there."


class Busy(Unavailable):
    """The ingest queue is full."""

    slug = "busy"
    title = "The service is busy"
    default_next_step = "Keep the batch and try again as Retry-After says."


class SlowQuery(Unavailable):
    """A read took longer than the statement limit."""

    slug = "slow-query"
    title = "The query took too long"
    default_next_step = "Ask for a shorter window or fewer points."


def all_errors() -> list[type[TierscopeError]]:
    """Returns every class of the tree that has a slug of its own, the base first.

    A class without one is a case of another error, which callers are told.
    """
    found: list[type[TierscopeError]] = [TierscopeError]
    for cls in found:
        found.extend(cls.__subclasses__())
    return [cls for cls in found if "slug" in vars(cls)]
