"""`tierscope experiments`."""
