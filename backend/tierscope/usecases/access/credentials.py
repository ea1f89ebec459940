"""Secrets: made from 256 random bits, kept as SHA-256."""

import hashlib
import secrets

_PREFIXES = {"join": "tsj", "api": "tsa", "link": "tsl", "session": "tss", "password": "tsp", "host": "tsh"}


def new_secret(kind: str) -> str:
    """Returns a fresh secret. Its prefix says what it is, so that a leaked one can be found by a scanner."""
    return f"{_PREFIXES[kind]}_{secrets.token_urlsafe(32)}"


def has_prefix(kind: str, secret: str) -> bool:
    """Whether a secret may be one of this kind."""
    return secret.startswith(f"{_PREFIXES[kind]}_")


def hash_secret(secret: str) -> bytes:
    """Returns the SHA-256 that is stored and looked up. Looking up a hash leaks nothing about the secret by time."""
    return hashlib.sha256(secret.encode("utf-8", errors="replace")).digest()
