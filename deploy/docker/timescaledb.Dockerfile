# PostgreSQL with TimescaleDB. The Apache edition has all that Tierscope needs.
ARG TIMESCALEDB_IMAGE=timescale/timescaledb:2.19.3-pg17-oss
FROM ${TIMESCALEDB_IMAGE}
COPY enable-timescaledb.sql /docker-entrypoint-initdb.d/010-enable-timescaledb.sql
