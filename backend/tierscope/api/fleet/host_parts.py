"""Parts of a host's answer: its memory hardware as measured and linked, and its agent."""
