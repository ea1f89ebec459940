"""Commands on the servers of a fleet."""
