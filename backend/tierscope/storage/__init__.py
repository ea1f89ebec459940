"""Tables and the statements that read and write them."""
