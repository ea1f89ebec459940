"""Scheduled reports."""
