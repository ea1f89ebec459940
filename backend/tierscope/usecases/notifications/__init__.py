"""Telling receivers of alerts: what is to be said, saying it, and what was said."""
