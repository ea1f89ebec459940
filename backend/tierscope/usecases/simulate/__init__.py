"""Sweeps of the simulator: policies, DRAM shares and settings over one trace, as work for the queue."""
