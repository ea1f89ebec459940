"""Logging in through an OpenID provider."""
