"""Protobuf classes of the agent wire; written by contract/gen_proto.py."""
