"""`tierscope recommend`."""
