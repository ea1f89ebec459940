"""`tierscope simulate`."""
