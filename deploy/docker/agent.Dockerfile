# The agent alone, as its package installs it, with the few libraries that it loads: no shell, no package manager. For
# deploy/kubernetes/agent-daemonset.yaml. It runs as the user that the manifest names, with the capabilities that
# `tierscope-agent explain` lists for the collectors in use; without any, it reads counters. Before:
# `make dist ARGS="wheels packages"`.
ARG BASE=debian:trixie-slim
FROM ${BASE} AS unpacked
RUN --mount=type=bind,source=.build/dist/packages,target=/packages \
    dpkg --extract /packages/tierscope-agent_*"_$(dpkg --print-architecture).deb" /package \
    && mkdir --parents /image \
    && cd /package && cp --archive --parents usr/bin usr/share/doc /image \
    && ldd usr/bin/tierscope-agent | grep --only-matching '/[^ ]*' | xargs cp --dereference --parents --target-directory /image \
    && mkdir --parents /image/var/lib/dpkg/status.d \
    && for name in libc6 libgcc-s1; do dpkg-query --status $name >/image/var/lib/dpkg/status.d/$name; done \
    && cp --parents /usr/share/doc/libc6/copyright /usr/share/doc/libgcc-s1/copyright /image

FROM scratch
COPY --from=unpacked /image /
USER 65534:65534
ENTRYPOINT ["/usr/bin/tierscope-agent"]
CMD ["run", "--config", "/etc/tierscope/agent.toml"]
