"""Commands on tokens, users and teams."""
