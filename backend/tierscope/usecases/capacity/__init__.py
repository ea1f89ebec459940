"""Capacity: daily points, forecasts, plans and their exports."""
