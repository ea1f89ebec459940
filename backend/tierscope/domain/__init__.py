"""Pure analytics: numpy in, frozen values out. No I/O, no clock, no unseeded randomness."""
