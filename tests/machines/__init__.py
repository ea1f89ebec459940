"""Machines by documented layouts: trees of what their kernels show, and what is right to say of each."""
