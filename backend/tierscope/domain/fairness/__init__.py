"""Fairness between the services of a host: who holds how much of its top tier, and who pushes whom out."""
