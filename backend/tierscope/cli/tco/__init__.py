"""`tierscope tco`."""
