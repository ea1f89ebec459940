"""`tierscope fairness`."""
