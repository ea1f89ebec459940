"""Experiments: canary hosts against control hosts, before and after a change."""
