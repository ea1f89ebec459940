"""Typed client of the Tierscope API. Methods and models are generated from contract/openapi.json by `make gen`.

with Client("http://127.0.0.1:8480", token="tsa_...") as client:
    for host in client.iter_hosts():
        print(host["name"], host["state"])
"""

from tierscope_client._generated import models
from tierscope_client._generated.operations import Client
from tierscope_client.errors import ProblemError, UnreachableError

__all__ = ["Client", "ProblemError", "UnreachableError", "models"]
