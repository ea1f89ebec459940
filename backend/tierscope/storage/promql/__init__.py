"""What queries in PromQL read that nothing else does."""
