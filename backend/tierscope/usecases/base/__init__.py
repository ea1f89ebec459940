"""What every district stands on: figures, windows of time, subjects."""
