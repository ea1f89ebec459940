"""Faults on purpose: real processes that are killed, cut off, slowed down, filled up and lied to about the time."""
