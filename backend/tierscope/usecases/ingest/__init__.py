"""What agents and Prometheus send, on its way in."""
