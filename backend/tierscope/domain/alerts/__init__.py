"""Alert rules: the language of their conditions, their states, their files, and what they judge."""
