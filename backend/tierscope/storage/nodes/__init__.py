"""PostgreSQL servers that hold a fleet together: where a host's rows are, and how sums over all servers are read."""
