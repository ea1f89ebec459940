"""Total cost of ownership: what hosts with several tiers of memory cost and save, with what certainty."""
