"""Hit ratio against DRAM size, re-access times, and the page samples behind both."""
