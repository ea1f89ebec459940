"""The ledger of tier moves, and ping-pong."""
