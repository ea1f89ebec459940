# PostgreSQL with TimescaleDB, both as Debian packs them: the Apache edition, which has all that Tierscope needs.
ARG BASE=debian:trixie-slim
FROM ${BASE}
ARG SOURCE_DATE_EPOCH
# Packages of PostgreSQL make a database of their own and a key where nothing keeps them from it.
RUN groupadd --system --gid 999 postgres \
    && useradd --system --uid 999 --gid 999 --home-dir /var/lib/postgresql --shell /bin/sh postgres \
    && mkdir -p /etc/postgresql-common && echo 'create_main_cluster = false' >/etc/postgresql-common/createcluster.conf \
    && apt-get update \
    && apt-get install --yes --no-install-recommends postgresql-17 postgresql-17-timescaledb \
    && rm -rf /var/lib/apt/lists/* /var/cache/apt/*.bin /var/cache/ldconfig /var/log/* /etc/ssl/private/* \
        /etc/ssl/certs/ssl-cert-snakeoil.pem \
    && install -d -o postgres -g postgres -m 0700 /var/lib/postgresql/data
COPY deploy/docker/database-entrypoint.sh /usr/local/bin/database-entrypoint
ENV PATH=/usr/lib/postgresql/17/bin:$PATH PGDATA=/var/lib/postgresql/data/17
USER 999:999
EXPOSE 5432
STOPSIGNAL SIGINT
ENTRYPOINT ["database-entrypoint"]
CMD ["postgres"]
