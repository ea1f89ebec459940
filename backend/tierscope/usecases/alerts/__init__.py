"""Alerts: judging rules on minutes, live and over history, and what lists and charts show."""
