"""`tierscope network`."""
