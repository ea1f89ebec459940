"""Samples of Prometheus: whom a series is about, which kernel counter it is, what its labels say of a host."""
