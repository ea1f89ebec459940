"""HTTP: routers, request and answer models, permissions."""
