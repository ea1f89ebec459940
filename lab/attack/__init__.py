"""Attacks on an instance of one's own, on loopback: what `make attack` plays and `test_attacks.py` plays small."""
