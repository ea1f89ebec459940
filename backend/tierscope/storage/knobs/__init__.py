"""Advice on kernel settings, and the cards that advice is shown on."""
