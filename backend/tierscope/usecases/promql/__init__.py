"""Queries in PromQL over what is stored: samples as written, tier moves of hosts, heat of services."""
