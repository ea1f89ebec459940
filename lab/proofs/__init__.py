"""`make dist-proof`: what `make dist` made is installed on bare roots, started, asked and removed."""
