"""`tierscope capacity`."""
