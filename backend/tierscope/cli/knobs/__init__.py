"""`tierscope knobs`."""
