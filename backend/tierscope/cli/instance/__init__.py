"""The instance that `tierscope up` runs: where it is, what it consists of, how it comes up."""
