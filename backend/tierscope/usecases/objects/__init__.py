"""Bodies of finished hours that lie in an object store."""
