"""The query API of Prometheus, over what is stored here."""
