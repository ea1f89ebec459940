"""What answers say of the servers of a fleet."""
