"""Receivers: what each kind needs, and how its settings name secrets.

A secret is never a setting. A field that holds one takes `${TIERSCOPE_SECRET_NAME}`, a variable of the service's
environment, and beside each such field `<field>_file` takes the name of a file in the one directory of secrets. Other
variables and other places cannot be named, so that a receiver cannot be made to send what it should not know.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

Kind = Literal["webhook", "mail", "slack", "pagerduty", "alertmanager", "apprise"]
KINDS: tuple[Kind, ...] = get_args(Kind)
Value = str | bool | float | tuple[str, ...]
FieldType = Literal["text", "address", "secret", "switch", "seconds", "recipients"]

SECRET_PREFIX = "TIERSCOPE_SECRET_"  # noqa: S105 - the beginning of names, not a secret
PAGERDUTY_URL = "https://events.pagerduty.com/v2/enqueue"
RESEND_SECONDS = 60.0
MAX_RECEIVERS = 200
MAX_RECIPIENTS = 50
_MAX_TEXT = 2000
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._-]{0,99}\Z")
_VARIABLE = re.compile(r"\$\{(" + SECRET_PREFIX + r"[A-Z0-9_]{1,100})\}\Z")
_FILE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}\Z")
_RECIPIENT = re.compile(r"[^@\s,;<>()\"\\\x00-\x1f]{1,64}@[A-Za-z0-9.\[\]:-]{1,253}\Z")
_USER_INFO = re.compile(r"\Ahttps?://[^/?#]*@")

FIELDS: Mapping[Kind, Mapping[str, FieldType]] = {
    "webhook": {"url": "address", "token": "secret", "send_resolved": "switch"},
    "mail": {"to": "recipients", "send_resolved": "switch"},
    "slack": {"url": "secret", "channel": "text", "send_resolved": "switch"},
    "pagerduty": {"routing_key": "secret", "url": "address", "send_resolved": "switch"},
    "alertmanager": {
        "url": "address",
        "user": "text",
        "password": "secret",
        "token": "secret",
        "resend_seconds": "seconds",
    },
    "apprise": {"url": "secret", "send_resolved": "switch"},
}
"""Per kind, its fields. An `address` may be written out, or named like a secret; a `secret` is always named."""
REQUIRED: Mapping[Kind, str] = {
    "webhook": "url",
    "mail": "to",
    "slack": "url",
    "pagerduty": "routing_key",
    "alertmanager": "url",
    "apprise": "url",
}
_NAMED = ("secret", "address")


@dataclass(frozen=True, slots=True)
class Receiver:
    """A receiver as configured."""

    name: str
    kind: Kind
    settings: Mapping[str, Value]

    @property
    def sends_resolved(self) -> bool:
        """Whether it is told when alerts are resolved."""
        return self.settings.get("send_resolved", True) is not False

    @property
    def keeps_alive(self) -> bool:
        """Whether it forgets alerts that are not sent again and again."""
        return self.kind == "alertmanager"

    @property
    def resend_seconds(self) -> float:
        """How often alerts are sent again to a receiver that forgets them."""
        value = self.settings.get("resend_seconds", RESEND_SECONDS)
        return float(value) if isinstance(value, int | float) else RESEND_SECONDS


@dataclass(frozen=True, slots=True)
class SecretReference:
    """Where the value of a field is: a variable of the environment, or a file in the directory of secrets."""

    field: str
    source: Literal["environment", "file"]
    name: str


def secret_references(receiver: Receiver) -> list[SecretReference]:
    """Where the secrets of a receiver are; a file wins over its field."""
    found = []
    for field, kind in FIELDS[receiver.kind].items():
        if kind not in _NAMED:
            continue
        file = receiver.settings.get(f"{field}_file")
        variable = _VARIABLE.match(str(receiver.settings.get(field, "")))
        if file is not None:
            found.append(SecretReference(field, "file", str(file)))
        elif variable is not None:
            found.append(SecretReference(field, "environment", variable.group(1)))
    return found


def check_receiver(receiver: Receiver) -> None:
    """Refuses a receiver that cannot work, or that holds a secret.

    Raises:
        ValueError: what is wrong with which field; never its value where that may be a secret.
    """
    if not _NAME.match(receiver.name):
        raise ValueError("a receiver's name has 1 to 100 letters, digits, spaces and . _ -, and begins with no sign")
    if receiver.kind not in KINDS:
        raise ValueError(f"{receiver.kind!r} is none of {', '.join(KINDS)}")
    fields = FIELDS[receiver.kind]
    for field, value in receiver.settings.items():
        base = field.removesuffix("_file")
        if field in fields:
            _check_value(field, fields[field], value)
        elif base != field and fields.get(base) in _NAMED:
            if not _FILE.match(str(value)):
                raise ValueError(f"`{field}` is the name of a file in the directory of secrets, without a path")
        else:
            raise ValueError(f"a receiver of kind {receiver.kind} has no setting `{field}`")
    needed = REQUIRED[receiver.kind]
    if not (receiver.settings.get(needed) or receiver.settings.get(f"{needed}_file")):
        also = f" or `{needed}_file`" if fields[needed] in _NAMED else ""
        raise ValueError(f"a receiver of kind {receiver.kind} needs `{needed}`{also}")


def _check_value(field: str, kind: FieldType, value: Value) -> None:
    if kind == "switch":
        if not isinstance(value, bool):
            raise ValueError(f"`{field}` is true or false")
    elif kind == "seconds":
        if isinstance(value, bool) or not isinstance(value, int | float) or not 1 <= value <= 3600:  # noqa: PLR2004
            raise ValueError(f"`{field}` is a number of seconds from 1 to 3600")
    elif kind == "recipients":
        if not isinstance(value, tuple) or not 0 < len(value) <= MAX_RECIPIENTS:
            raise ValueError(f"`{field}` is a list of one to {MAX_RECIPIENTS} mail addresses")
        wrong = [address for address in value if not _RECIPIENT.match(address)]
        if wrong:
            raise ValueError(f"`{field}`: invalid email address: {wrong[0][:80]!r}")
    elif not isinstance(value, str) or not 0 < len(value) <= _MAX_TEXT or any(ord(sign) < 0x20 for sign in value):  # noqa: PLR2004
        raise ValueError(f"`{field}` is text of at most {_MAX_TEXT} characters, without line breaks")
    elif kind in _NAMED and _VARIABLE.match(value):
        return
    elif kind == "secret":
        raise ValueError(
            f"`{field}` is a secret: write ${{{SECRET_PREFIX}...}}, a variable of the service's environment, or name a"
            f" file in `{field}_file`"
        )
    elif kind == "address" and (not value.startswith(("http://", "https://")) or _USER_INFO.match(value)):
        raise ValueError(
            f"`{field}` is an http or https address without a user name; name one that holds a secret by"
            f" ${{{SECRET_PREFIX}...}} or `{field}_file`"
        )
