"""Where alerts are sent, what was sent, and what is silenced."""
