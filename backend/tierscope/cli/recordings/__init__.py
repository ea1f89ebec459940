"""`tierscope analyze`."""
