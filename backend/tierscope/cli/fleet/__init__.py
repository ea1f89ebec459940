"""Commands on hosts and their agents."""
