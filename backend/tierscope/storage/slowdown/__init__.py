"""How much slower a service runs by its share of accesses on slow memory."""
