"""Celery tasks: adapters of a few lines that call a use case, and their schedule."""
