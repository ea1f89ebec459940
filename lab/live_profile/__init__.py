"""A live profile of a real redis-server whose hot keys are known. See docs/examples/redis-live.md."""
