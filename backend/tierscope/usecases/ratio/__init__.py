"""DRAM:CXL ratio advice."""
