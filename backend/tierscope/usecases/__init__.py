"""What the service does, one use case per method; each owns its transaction."""
