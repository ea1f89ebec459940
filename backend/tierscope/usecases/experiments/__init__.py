"""Experiments: canary hosts against like hosts, before and after a change."""
