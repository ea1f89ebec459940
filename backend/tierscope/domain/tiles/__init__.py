"""Heat tiles: activity by time and address."""
