"""Advice applied to kernels with two memory tiers: whether settings take hold, stay over reboots, go back, and help."""
