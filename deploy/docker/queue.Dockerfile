# Valkey, as Debian packs it.
ARG BASE=debian:trixie-slim
FROM ${BASE}
ARG SOURCE_DATE_EPOCH
RUN groupadd --system --gid 998 valkey \
    && useradd --system --uid 998 --gid 998 --home-dir /var/lib/valkey --shell /usr/sbin/nologin valkey \
    && apt-get update \
    && apt-get install --yes --no-install-recommends valkey-server \
    && rm -rf /var/lib/apt/lists/* /var/cache/apt/*.bin /var/cache/ldconfig /var/log/*
USER 998:998
EXPOSE 6379
WORKDIR /var/lib/valkey
CMD ["valkey-server"]
