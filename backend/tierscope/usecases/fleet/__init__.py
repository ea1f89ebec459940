"""Hosts, services and their agents, and the overview of all of them."""
