"""A corpus of recordings of real kernels with two memory tiers, in an emulated guest (docs/method/corpus.md)."""
