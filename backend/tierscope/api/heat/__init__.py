"""Heat: how hot the memory of services is, by class, age, page kind and tier."""
