"""Alert rules, their evaluation, and alerts."""
