"""Generated; see contract/gen_client.py."""
