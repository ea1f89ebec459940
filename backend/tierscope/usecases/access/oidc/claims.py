"""What an ID token must say to be believed, and what its claims mean here."""

from collections.abc import Iterable, Mapping
from typing import Any

from tierscope.core.settings import Oidc
from tierscope.domain.access.permissions import Role
from tierscope.usecases.access.oidc.refusal import LoginRefused

LEEWAY_SECONDS = 60
SUBJECT_CHARACTERS = 255
"""At most, of `sub` (OpenID Connect Core 1.0, 2)."""
_RANK: tuple[Role, ...] = ("viewer", "operator", "admin")


def check_id_token(
    header: Mapping[str, Any],
    claims: Mapping[str, Any],
    *,
    settings: Oidc,
    nonce: str,
    access_token: str | None,
    now_s: float,
) -> None:
    """Checks issuer, audience, authorised party, times, nonce and the access token's hash.

    Raises:
        LoginRefused: names the claim.
    """
    from authlib.oidc.core import CodeIDToken  # noqa: PLC0415 - loaded with the first login through the provider
    from joserfc.errors import JoseError  # noqa: PLC0415 - likewise

    token = CodeIDToken(
        dict(claims),
        dict(header),
        options={
            "iss": {"essential": True, "value": settings.issuer},
            "aud": {"essential": True, "value": settings.client_id},
            "sub": {"essential": True},
            "exp": {"essential": True},
            "iat": {"essential": True},
            "nonce": {"essential": True},
        },
        params={"nonce": nonce, "client_id": settings.client_id, "access_token": access_token},
    )
    try:
        token.validate(now=int(now_s), leeway=LEEWAY_SECONDS)
    except (JoseError, ValueError, TypeError, AttributeError, OverflowError) as error:
        claim = getattr(error, "claim", None) or type(error).__name__
        raise LoginRefused("failed", f"the ID token is not for this login: {claim} ({error})") from error
    subject = claims.get("sub")
    if not isinstance(subject, str) or not 0 < len(subject) <= SUBJECT_CHARACTERS or not subject.isprintable():
        raise LoginRefused("failed", "the ID token names nobody")


def values_of(claims: Mapping[str, Any], path: str | None) -> list[str]:
    """Returns the texts of a claim, which may stand deeper, such as `realm_access.roles`; none without it."""
    if path is None:
        return []
    if path in claims:  # names such as https://example.org/roles hold dots themselves
        return _texts(claims[path])
    found: Any = claims
    for part in path.split("."):
        found = found.get(part) if isinstance(found, Mapping) else None
    return _texts(found)


def role_of(claims: Mapping[str, Any], settings: Oidc) -> Role | None:
    """Returns the highest role that the claim gives; else the default one."""
    given = {settings.roles[value] for value in values_of(claims, settings.role_claim) if value in settings.roles}
    return max(given, key=_RANK.index) if given else settings.default_role


def teams_of(claims: Mapping[str, Any], settings: Oidc) -> list[str]:
    """Returns the names of teams that the claim gives."""
    return [settings.teams.get(value, value) for value in values_of(claims, settings.team_claim)]


def _texts(value: object) -> list[str]:
    """Those that can be shown and stored."""
    found = [value] if isinstance(value, str) else value if isinstance(value, Iterable) else ()
    return [item for item in found if isinstance(item, str) and item.isprintable()]
