"""What hosts and services hold, how it grows, and when it runs out."""
