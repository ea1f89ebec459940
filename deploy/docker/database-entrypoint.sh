#!/bin/sh
# Makes the database on the first start, then runs what it is given. POSTGRES_USER, POSTGRES_DB and
# POSTGRES_PASSWORD_FILE are called and mean what they do in the images of the PostgreSQL project and of TimescaleDB.
set -eu
if [ ! -e "$PGDATA" ]; then
    # Beside its place, so that a start that is interrupted leaves nothing that looks like a database.
    new=$PGDATA.new
    rm -rf "$new"
    initdb --pgdata "$new" --username "$POSTGRES_USER" --pwfile "$POSTGRES_PASSWORD_FILE" \
        --auth scram-sha-256 --encoding UTF8 --locale C.UTF-8 --data-checksums
    cat >>"$new/postgresql.conf" <<CONF
listen_addresses = '*'
shared_preload_libraries = 'timescaledb'
CONF
    echo 'host all all all scram-sha-256' >>"$new/pg_hba.conf"
    echo "CREATE DATABASE \"$POSTGRES_DB\"" | postgres --single -D "$new" postgres
    echo 'CREATE EXTENSION timescaledb' | postgres --single -D "$new" "$POSTGRES_DB"
    mv "$new" "$PGDATA"
fi
exec "$@"
