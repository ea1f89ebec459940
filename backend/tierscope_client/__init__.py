"""Typed client of the Tierscope API. Methods and models are generated from contract/openapi.json by `make gen`.

with Client("http://127.0.0.1:8480", token="tsa_...") as client:
    for host in client.iter_hosts():
        print(host["name"], host["state"])
    frame = client.list_hosts_table().to_polars()
"""

from tierscope_client._generated import models
from tierscope_client._generated.operations import Client
from tierscope_client.errors import ProblemError, UnreachableError
from tierscope_client.tables import MissingPackageError, Table

__all__ = ["Client", "MissingPackageError", "ProblemError", "Table", "UnreachableError", "models"]
