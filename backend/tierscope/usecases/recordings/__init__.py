"""Analysis of recordings without a database."""
