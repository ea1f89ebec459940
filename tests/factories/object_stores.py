"""A server that speaks S3, as a process of its own, and how a service reaches it."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import boto3

from factories.loopback import free_port
from factories.prometheus import answers
from factories.waiting import DEADLINE_SECONDS, until
from tierscope.core.settings import History, Objects, Outgoing, Settings

BUCKET = "tierscope-test"


@contextmanager
def s3_server() -> Iterator[str]:
    """The address of a server that ends with the block."""
    port = free_port()
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    address = f"http://127.0.0.1:{port}"
    try:
        until(lambda: answers(address), "the server of S3 answers", alive={"it": process})
        yield address
    finally:
        process.kill()
        process.wait()


def empty_bucket(address: str) -> None:
    client: Any = boto3.client(
        "s3", endpoint_url=address, region_name="us-east-1", aws_access_key_id="key", aws_secret_access_key="secret"
    )
    client.create_bucket(Bucket=BUCKET)
    for page in client.get_paginator("list_objects_v2").paginate(Bucket=BUCKET):
        for item in page.get("Contents", ()):
            client.delete_object(Bucket=BUCKET, Key=item["Key"])


def s3_settings(address: str) -> Settings:
    """Of a service that keeps objects in that bucket."""
    return Settings(outgoing=_outgoing(address), objects=Objects.model_validate({"store": "s3", **_place(address)}))


def s3_history(address: str) -> Settings:
    """Of a service that publishes history in that bucket."""
    return Settings(outgoing=_outgoing(address), history=History.model_validate({"store": "s3", **_place(address)}))


def _outgoing(address: str) -> Outgoing:
    return Outgoing(allow=(address.removeprefix("http://"),))


def _place(address: str) -> dict[str, object]:
    return {
        "bucket": BUCKET,
        "prefix": "fleet/",
        "endpoint_url": address,
        "access_key_id": "key",
        "secret_access_key": "secret",
        "attempts": 1,
        "connect_seconds": DEADLINE_SECONDS,
        "read_seconds": DEADLINE_SECONDS,
    }


def s3_environment(address: str) -> dict[str, str]:
    told = s3_settings(address).objects.model_dump(mode="json", exclude_unset=True)
    told |= {"access_key_id": "key", "secret_access_key": "secret"}
    chosen = {f"TIERSCOPE_OBJECTS__{name.upper()}": str(value) for name, value in told.items()}
    return chosen | {"TIERSCOPE_OUTGOING__ALLOW": address.removeprefix("http://")}
