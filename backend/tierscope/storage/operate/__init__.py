"""Running the service: its health, what it holds and what it removes."""
