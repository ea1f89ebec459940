"""Commands that run, check and mend an installation."""
