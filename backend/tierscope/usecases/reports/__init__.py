"""Reports of capacity, advice and alerts: what is in them, how they look, and sending them by a schedule."""
