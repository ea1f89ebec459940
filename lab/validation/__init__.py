"""What the simulator says against what papers and kernels measured: `make validation` writes docs/validation.md."""
