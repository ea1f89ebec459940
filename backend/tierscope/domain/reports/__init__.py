"""Scheduled reports: when they are due, and the charts in them."""
