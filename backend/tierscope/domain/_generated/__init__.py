"""Tables written by `contract/gen.py`."""
