"""Tierscope: fleet memory profiling for hosts with tiered memory (DRAM + CXL)."""

__version__ = "0.1.0"
