"""Settings: environment variables `TIERSCOPE_*` over one TOML file over the defaults below.

The file is named by `TIERSCOPE_CONFIG` (default `/etc/tierscope/tierscope.toml`, read where it exists). A nested value
is written `TIERSCOPE_LIMITS__BATCH_BYTES` in the environment and `[limits] batch_bytes = ...` in the file; a list is
comma-separated in the environment.
"""

import os
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import quote, urlsplit, urlunsplit

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr
from pydantic_settings import (
    BaseSettings,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

import tierscope

DEFAULT_CONFIG_FILE = Path("/etc/tierscope/tierscope.toml")


def default_data_dir() -> Path:
    """Where the embedded servers keep their data: a system path for root, else one in the user's home."""
    if os.geteuid() == 0:
        return Path("/var/lib/tierscope")
    return Path.home() / ".local" / "share" / "tierscope"


def _split(value: object) -> object:
    return [name.strip() for name in value.split(",") if name.strip()] if isinstance(value, str) else value


Names = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_split)]


class Limits(BaseModel):
    """Bounds on what is taken in. Reaching one is counted and shown, never silent."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    batch_bytes: int = Field(default=1 << 20, gt=0)
    batch_inflated_bytes: int = Field(default=8 << 20, gt=0)
    services_per_host: int = Field(default=200, gt=0)
    counter_names_per_host: int = Field(default=4096, gt=0)
    layouts_per_host_day: int = Field(default=64, gt=0)
    late_days: int = Field(default=7, gt=0, description="Older points are acknowledged and counted, not stored.")
    future_seconds: int = Field(default=300, gt=0)
    clock_skew_seconds: int = Field(default=30, gt=0)
    commit_batches: int = Field(default=32, gt=0, description="Most batches that share one commit.")
    commit_bytes: int = Field(default=16 << 20, gt=0)
    queue_batches: int = Field(default=256, gt=0, description="Waiting batches above which ingest answers 503.")
    queue_bytes: int = Field(default=64 << 20, gt=0, description="The same, by inflated bytes.")
    host_batches_in_flight: int = Field(default=4, gt=0, description="Per host; above it ingest answers 429.")
    read_statement_seconds: float = Field(default=5.0, gt=0)


class Sending(BaseModel):
    """How often agents send what they collect each minute. A host's own file may say that it sends more often."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    minutes: int = Field(
        default=5,
        ge=1,
        le=10,
        description="Between batches of a host in a large fleet; 1 = each minute, always. It sends each minute while"
        " somebody looks at it or at a service on it, and while a rule on ping-pong, or one that fires within ten"
        " minutes, is pending or firing for it.",
    )
    small_fleet_hosts: int = Field(
        default=500, ge=0, description="Up to so many hosts in service, each sends each minute."
    )


class Outgoing(BaseModel):
    """Calls that the service makes by itself: notifications and reports. Internal addresses only where listed."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    allow: Names = Field(default=(), description="Networks, addresses or host:port that may be called though internal.")
    ca_file: Path | None = Field(default=None, description="More certificate authorities to trust, as PEM.")
    connect_seconds: float = Field(default=5.0, gt=0)
    total_seconds: float = Field(default=15.0, gt=0, description="From looking up the name to the end of the answer.")
    answer_bytes: int = Field(default=64 << 10, gt=0, description="As much of an answer is read.")
    secrets_dir: Path | None = Field(default=None, description="The one directory that receivers' secret files are in.")


class ObjectPlace(BaseModel):
    """A directory, or an S3 bucket."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    directory: Path | None = Field(
        default=None, description="For `directory`; null = `objects` or `history` in the data directory."
    )
    bucket: str = ""
    prefix: str = Field(default="", description="Put before every key, such as `tierscope/`.")
    endpoint_url: str | None = Field(
        default=None, description="Of an S3 server; null = AWS. Internal ones only where outgoing.allow has them."
    )
    region: str = "us-east-1"
    access_key_id: SecretStr | None = Field(default=None, description="null = as the AWS libraries find one.")
    secret_access_key: SecretStr | None = None
    secret_access_key_file: Path | None = Field(default=None, description="A 0600 file that holds the key alone.")
    attempts: int = Field(default=3, gt=0, description="Of each request, with growing pauses.")
    connect_seconds: float = Field(default=3.0, gt=0)
    read_seconds: float = Field(default=15.0, gt=0)


class Objects(ObjectPlace):
    """Where bodies of heat tiles and page samples are kept once their hour is over: rows, files, or an S3 bucket."""

    store: Literal["database", "directory", "s3"] = "database"


class History(ObjectPlace):
    """Where closed days are published as Parquet for other engines."""

    store: Literal["off", "directory", "s3"] = "off"
    keep_days: int = Field(
        default=1095, gt=0, description="How long published days stay, those too that the database has no more."
    )


class Mail(BaseModel):
    """The mail server that notifications and reports go through. Without a host no mail can be sent."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    host: str | None = None
    port: int = Field(default=587, gt=0, le=65535)
    tls: Literal["starttls", "tls", "none"] = "starttls"
    user: str | None = None
    password_file: Path | None = Field(default=None, description="A 0600 file that holds the password alone.")
    sender: str = Field(default="tierscope@localhost", description="The address in From.")
    total_seconds: float = Field(default=30.0, gt=0, description="For each step of the conversation with the server.")


class Oidc(BaseModel):
    """Logging in through an OpenID provider. Without an issuer there is none."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    issuer: str | None = Field(default=None, description="As the provider writes it; https, or http on loopback.")
    client_id: str = ""
    client_secret: SecretStr | None = Field(default=None, description="None with a public client, which PKCE protects.")
    client_secret_file: Path | None = Field(default=None, description="A 0600 file that holds the secret alone.")
    label: str = Field(default="Single sign-on", description="What the button says.")
    scopes: Names = Field(default=("openid", "profile", "email"), description="Asked of the provider.")
    algorithms: Names = Field(default=("RS256", "PS256", "ES256", "EdDSA"), description="Accepted signatures.")
    name_claim: str = "preferred_username"
    role_claim: str | None = Field(default=None, description="Where roles stand, such as `realm_access.roles`.")
    roles: dict[str, Literal["viewer", "operator", "admin"]] = Field(
        default={}, description="Role by value of the claim; the highest one counts, at each login."
    )
    default_role: Literal["viewer", "operator", "admin"] | None = Field(
        default=None, description="For people without a role of the claim; null = they are not let in."
    )
    team_claim: str | None = Field(default=None, description="Where teams stand; members follow it at each login.")
    teams: dict[str, str] = Field(default={}, description="Team by value of the claim; else its name is the value.")
    allow: Names = Field(default=(), description="Internal networks or host:port that the provider may live at.")
    end_provider_session: bool = Field(default=False, description="Logging out here goes on to the provider's logout.")


class RateLimits(BaseModel):
    """How many requests are answered; beyond them 429. Counted per process unless `shared`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    enabled: bool = True
    shared: bool = Field(default=False, description="Count in Redis, for several API processes together.")
    per_caller_per_minute: int = Field(default=6_000, gt=0, description="Of one session or API token.")
    per_address_per_minute: int = Field(default=12_000, gt=0, description="Of one address, loopback apart.")
    batches_per_host_per_minute: int = Field(default=6_000, gt=0, description="Sent by one agent.")
    samples_per_token_per_minute: int = Field(default=60_000, gt=0, description="Requests of Prometheus remote write.")
    logins_per_address_per_minute: int = Field(default=30, gt=0)
    wrong_logins_per_name_and_address: int = Field(default=10, gt=0, description="In five minutes.")
    wrong_logins_per_name: int = Field(default=100, gt=0, description="In an hour, from everywhere.")


class RemoteWriteSettings(BaseModel):
    """Prometheus remote write: which labels name a host, and bounds."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    host_label: str = Field(default="instance", description="Names the host; its port is left out.")
    cluster_label: str = Field(default="cluster", description="Keeps hosts of one name in several clusters apart.")
    replica_labels: tuple[str, ...] = Field(
        default=("prometheus_replica", "__replica__", "replica"),
        description="Tell apart several Prometheus that scrape the same hosts: each counter is taken from one of them.",
    )
    hosts: int = Field(default=20_000, gt=0, description="Most hosts that are made of what Prometheus sends.")
    series: int = Field(default=4_000_000, gt=0, description="Most series that are kept.")
    late_days: int = Field(default=30, gt=0, le=34, description="Older samples are refused.")
    future_seconds: int = Field(default=300, gt=0)
    body_bytes: int = Field(default=8 << 20, gt=0)
    inflated_bytes: int = Field(default=32 << 20, gt=0)
    samples_per_request: int = Field(default=100_000, gt=0)


class OtlpSettings(BaseModel):
    """OpenTelemetry: metrics that come by OTLP, stored as samples of Prometheus; and what is sent to a collector."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    inflated_bytes: int = Field(default=8 << 20, gt=0, description="Most bytes of a request once it is inflated.")
    promoted_attributes: tuple[str, ...] = Field(
        default=(
            "host.name",
            "k8s.cluster.name",
            "k8s.namespace.name",
            "k8s.pod.name",
            "k8s.container.name",
            "k8s.node.name",
            "container.id",
            "deployment.environment.name",
        ),
        description="Attributes of a resource that become labels of each of its series; all others stand in"
        " `target_info`.",
    )
    endpoint: str | None = Field(
        default=None,
        pattern=r"^https?://[^/?#@]+(/[^?#]*)?$",
        description="Base address of a collector that takes OTLP over HTTP, such as http://collector:4318; the"
        " service's metrics go there every minute. It may be internal. null = nothing is sent.",
    )
    traces: bool = Field(
        default=False, description="Send spans of ingest and of workers there, too; needs the extra `traces`."
    )
    headers: dict[str, SecretStr] = Field(default={}, description="Sent with each request, such as authorization.")
    attributes: dict[str, str] = Field(
        default={}, description="More attributes of the resource, such as deployment.environment.name."
    )

    def address(self, signal: Literal["metrics", "traces"]) -> str:
        """Where a signal goes at the endpoint, which is named."""
        assert self.endpoint is not None
        return f"{self.endpoint.rstrip('/')}/v1/{signal}"

    def plain_headers(self) -> dict[str, str]:
        """The headers with their secrets, for a request."""
        return {name: value.get_secret_value() for name, value in self.headers.items()}

    def resource(self) -> dict[str, str]:
        """The attributes of what is sent: this service, and those of the settings."""
        return {"service.name": "tierscope", "service.version": tierscope.__version__, **self.attributes}


class Settings(BaseSettings):
    """All settings of the service. Secrets are held so that printing the object does not show them."""

    model_config = SettingsConfigDict(
        env_prefix="TIERSCOPE_", env_nested_delimiter="__", extra="ignore", frozen=True, validate_default=True
    )

    database_url: SecretStr | None = Field(
        default=None, description="postgresql://user@/name?host=/socket/dir; null = the embedded server."
    )
    database_url_file: Path | None = Field(default=None, description="A 0600 file that holds the URL.")
    database_password_file: Path | None = Field(default=None, description="A 0600 file that holds the password alone.")
    database_pool_size: int = Field(default=8, gt=0)
    worker_nodes: tuple[int, ...] = Field(
        default=(), description="Numbers of the fleet's servers whose work this worker takes; empty = all of them."
    )
    redis_url: SecretStr | None = Field(default=None, description="redis://... or unix://...; null = the embedded one.")
    data_dir: Path = Field(default_factory=default_data_dir)
    account: str = Field(
        default="tierscope",
        pattern=r"^[a-z_][a-z0-9_-]{0,31}$",
        description="What `tierscope up` by root runs everything but the agent as; made where it does not exist.",
    )
    host: str = "127.0.0.1"
    port: int = Field(default=8480, ge=0, le=65535)
    storage: Literal["auto", "timescaledb", "native"] = "auto"
    demo_hours: int = Field(
        default=50, ge=1, le=192, description="History with heat that the simulated fleet of a demo brings."
    )
    demo_older_days: int = Field(
        default=20, ge=0, le=365, description="Days of hourly counters that the fleet of a demo brings before that."
    )
    anonymous_reads: bool | None = Field(
        default=None,
        description="Reading without login, in force only while listening on loopback without a proxy; null = where"
        " nobody else had an account on the machine at the first start.",
    )
    allowed_hosts: Names = Field(default=(), description="Names accepted in the Host header, beside loopback.")
    trusted_proxies: Names = Field(
        default=(),
        description="Addresses or networks of proxies in front. Ends anonymous reading; their X-Forwarded-For counts.",
    )
    secure_cookies: bool = Field(default=False, description="Mark cookies Secure: set it where TLS ends before us.")
    frontend_dir: Path | None = Field(default=None, description="Built dashboard; null = found beside the package.")
    fleet_metrics_limit: int = Field(
        default=1000, ge=0, le=20_000, description="Hosts, and services, that /metrics/fleet tells at most."
    )
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    log_json: bool = False
    limits: Limits = Limits()
    sending: Sending = Sending()
    remote_write: RemoteWriteSettings = RemoteWriteSettings()
    otlp: OtlpSettings = OtlpSettings()
    outgoing: Outgoing = Outgoing()
    mail: Mail = Mail()
    objects: Objects = Objects()
    history: History = History()
    password_login: bool = Field(default=True, description="Whether local users log in with a password.")
    oidc: Oidc = Oidc()
    rate_limits: RateLimits = RateLimits()
    public_url: str | None = Field(
        default=None,
        description="The dashboard's address as people and hosts reach it, for links in messages and to add hosts.",
    )

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - the signature is the base class's
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - likewise
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Arguments over environment over the file."""
        path = Path(os.environ.get("TIERSCOPE_CONFIG", DEFAULT_CONFIG_FILE))
        return init_settings, env_settings, TomlConfigSettingsSource(settings_cls, toml_file=path)

    @property
    def listens_on_loopback(self) -> bool:
        """Whether nobody but this machine can reach the service."""
        if self.host == "localhost":
            return True
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return False

    def resolve_database_url(self) -> str | None:
        """The database URL with its password, from setting or files; None means the embedded server."""
        url = self.database_url.get_secret_value() if self.database_url else None
        if url is None and self.database_url_file is not None:
            url = self.database_url_file.read_text(encoding="utf-8").strip()
        if url is None or self.database_password_file is None:
            return url
        return with_password(url, self.database_password_file.read_text(encoding="utf-8").strip())


def with_password(url: str, password: str) -> str:
    """Returns `url` with `password` put behind its user name."""
    parts = urlsplit(url)
    user, _, place = parts.netloc.rpartition("@")
    user = user.partition(":")[0]
    return urlunsplit(parts._replace(netloc=f"{user}:{quote(password, safe='')}@{place}"))
