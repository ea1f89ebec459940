"""Whatever bytes arrive, the service's readers refuse them by name or read them within their bounds: `make fuzz`."""
