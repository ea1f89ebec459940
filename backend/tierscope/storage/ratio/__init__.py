"""What ratio advice is made from, as workers read it ahead of the question."""
