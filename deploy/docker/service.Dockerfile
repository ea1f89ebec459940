# The service in all its roles, as its package installs it: `tierscope serve`, `worker`, `beat`, `migrate`. Before:
# `make dist ARGS="wheels packages"`, which makes the package and needs nothing of Docker.
ARG BASE=debian:trixie-slim
FROM ${BASE}
# Where it is set, python compiles files whose names and hashes are compared, not times, and accounts carry its day.
ARG SOURCE_DATE_EPOCH
RUN --mount=type=bind,source=.build/dist/packages,target=/packages \
    groupadd --system --gid 10480 tierscope \
    && useradd --system --uid 10480 --gid 10480 --home-dir /var/lib/tierscope --shell /usr/sbin/nologin tierscope \
    && apt-get update \
    && apt-get install --yes --no-install-recommends /packages/tierscope_*"+deb13_$(dpkg --print-architecture).deb" \
    && rm -rf /var/lib/apt/lists/* /var/cache/apt/*.bin /var/cache/ldconfig /var/log/* \
    && install -d -o tierscope -g tierscope -m 0700 /var/lib/tierscope
ENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
USER 10480:10480
EXPOSE 8480
CMD ["tierscope", "serve"]
