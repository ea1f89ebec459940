"""Commands on alert rules."""
