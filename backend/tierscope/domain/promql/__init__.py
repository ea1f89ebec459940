"""PromQL: what is asked, parsed, and its value over arrays of samples. Knows no storage."""
