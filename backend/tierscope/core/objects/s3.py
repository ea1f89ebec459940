"""Objects in a bucket that speaks S3."""

import base64
import hashlib
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tierscope.core.errors import ConfigurationError, ObjectMissing, Unavailable
from tierscope.core.objects.store import MOST_OBJECT_BYTES, RETRY_SECONDS, FoundObject, check_body
from tierscope.core.outgoing import OutgoingCalls
from tierscope.core.settings import ObjectPlace, Outgoing

_DELETED_AT_ONCE = 1000
MOST_LISTED = 1_000_000
"""Objects of a day, or of a table of history. A server that names more does not come to an end."""
_BODY_READS = 4
"""A whole body may take so many times what one read of it may."""
_PART_BYTES = 64 << 10
_GONE = ("NoSuchKey", "404", "NotFound")


class S3Store:
    """A bucket. Requests are tried again by the library, with growing pauses; redirects elsewhere are not followed."""

    def __init__(self, settings: ObjectPlace, outgoing: Outgoing) -> None:
        """Judges the address, and opens a client.

        Raises:
            ConfigurationError: the library is not installed.
            OutgoingRefused: the address is internal, and not one that may be called.
        """
        try:
            import boto3  # noqa: PLC0415 - an extra that an installation may lack
            from botocore.config import Config  # noqa: PLC0415 - likewise
        except ModuleNotFoundError as error:
            raise ConfigurationError(
                "objects in S3 need boto3, which is not installed", next_step="Install tierscope[objects]."
            ) from error
        if settings.endpoint_url is not None:
            OutgoingCalls(outgoing).find_target(settings.endpoint_url)
        self._bucket, self._prefix = settings.bucket, settings.prefix
        self._read_seconds = settings.read_seconds
        self._client: Any = boto3.session.Session().client(
            "s3",
            endpoint_url=settings.endpoint_url,
            region_name=settings.region,
            verify=str(outgoing.ca_file) if outgoing.ca_file else None,
            config=Config(
                connect_timeout=settings.connect_seconds,
                read_timeout=settings.read_seconds,
                retries={"total_max_attempts": settings.attempts, "mode": "standard"},
                s3={"addressing_style": "path" if settings.endpoint_url else "auto"},
                proxies={},
            ),
            **_keys(settings),
        )

    def put(self, key: str, body: bytes) -> None:
        """Store it, and ask for it: the server compares the bytes that came with our checksum before it answers.

        What answers every request with 200 is no S3; rows would give up their bodies to it.
        """
        digest = base64.b64encode(hashlib.sha256(body).digest()).decode()
        place = {"Bucket": self._bucket, "Key": self._prefix + key}
        with _translated():
            self._client.put_object(**place, Body=body, ChecksumSHA256=digest)
            there = self._client.head_object(**place)["ContentLength"]
        if there != len(body):
            raise Unavailable(
                f"the object store took {len(body)} bytes and has {there} of them",
                next_step="Check its endpoint URL: does an S3 server answer there?",
                retry_after_seconds=RETRY_SECONDS,
            )

    def get(self, key: str, digest: str | None = None) -> bytes:
        """Read it whole."""
        with _translated(key):
            answer = self._client.get_object(Bucket=self._bucket, Key=self._prefix + key)
            return check_body(key, self._read(answer["Body"], key), digest)

    def delete(self, keys: Sequence[str]) -> None:
        """Remove them, a thousand in a request."""
        for first in range(0, len(keys), _DELETED_AT_ONCE):
            some = [{"Key": self._prefix + key} for key in keys[first : first + _DELETED_AT_ONCE]]
            with _translated():
                answer = self._client.delete_objects(Bucket=self._bucket, Delete={"Objects": some, "Quiet": True})
            if answer.get("Errors"):
                code = answer["Errors"][0].get("Code")
                raise Unavailable(f"the object store does not delete: {code}", retry_after_seconds=RETRY_SECONDS)

    def list(self, prefix: str) -> Iterator[FoundObject]:
        """By pages of a thousand."""
        with _translated():
            pages, named = self._client.get_paginator("list_objects_v2"), 0
            for page in pages.paginate(Bucket=self._bucket, Prefix=self._prefix + prefix):
                found = page.get("Contents", ())
                named += len(found)
                if named > MOST_LISTED:
                    raise Unavailable(f"the object store lists more than {MOST_LISTED:,} objects of {prefix}")
                for item in found:
                    # What it names besides was not asked for, and is not ours to delete.
                    if item["Key"].startswith(self._prefix + prefix):
                        yield FoundObject(item["Key"].removeprefix(self._prefix), item["Size"], item["LastModified"])

    def _read(self, body: Any, key: str) -> bytes:  # noqa: ANN401 - the library's
        """A body to its end, as long as it may be one of ours."""
        ends_at, read = time.monotonic() + _BODY_READS * self._read_seconds, bytearray()
        try:
            while part := body.read(_PART_BYTES):
                read += part
                if len(read) > MOST_OBJECT_BYTES:
                    raise ObjectMissing(
                        f"the object {key} is longer than one may be", retry_after_seconds=RETRY_SECONDS
                    )
                if time.monotonic() > ends_at:
                    raise Unavailable("the object store sends too slowly", retry_after_seconds=RETRY_SECONDS)
        finally:
            body.close()
        return bytes(read)


def _keys(settings: ObjectPlace) -> dict[str, str]:
    if settings.access_key_id is None:
        return {}
    secret = settings.secret_access_key.get_secret_value() if settings.secret_access_key else None
    if secret is None and settings.secret_access_key_file is not None:
        secret = settings.secret_access_key_file.read_text(encoding="utf-8").strip()
    if secret is None:
        raise ConfigurationError(
            "the object store has an access key without its secret",
            next_step="Set SECRET_ACCESS_KEY_FILE beside it.",
        )
    return {"aws_access_key_id": settings.access_key_id.get_secret_value(), "aws_secret_access_key": secret}


@contextmanager
def _translated(key: str | None = None) -> Iterator[None]:
    """Turns the library's errors into ours; they name no address and no secret."""
    from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415 - see above

    try:
        yield
    except ClientError as error:
        code = str(error.response.get("Error", {}).get("Code", ""))
        if key is not None and code in _GONE:
            raise ObjectMissing(f"the object {key} is gone", retry_after_seconds=RETRY_SECONDS) from error
        raise Unavailable(f"the object store refused: {code}", retry_after_seconds=RETRY_SECONDS) from error
    except ValueError as error:
        raise Unavailable("the object store says what cannot be read", retry_after_seconds=RETRY_SECONDS) from error
    except (BotoCoreError, OSError) as error:
        cause = type(error).__name__
        raise Unavailable(f"the object store cannot be reached ({cause})", retry_after_seconds=RETRY_SECONDS) from error
