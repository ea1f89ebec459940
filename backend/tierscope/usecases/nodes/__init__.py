"""A fleet on several PostgreSQL servers: who holds which hosts, and what each process does with them."""
