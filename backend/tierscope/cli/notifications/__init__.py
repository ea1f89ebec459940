"""Commands on silences."""
