"""Capacity planning: daily points, level shifts, forecasts with intervals, days to exhaustion, packing."""
