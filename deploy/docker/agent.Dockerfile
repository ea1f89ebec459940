# The agent alone: one static program, for deploy/kubernetes/agent-daemonset.yaml. It runs as the user that the manifest
# names, with the capabilities that `tierscope-agent explain` lists for the collectors in use; without any, it reads
# counters.
ARG RUST_IMAGE=rust:1-alpine

FROM ${RUST_IMAGE} AS build
RUN apk add --no-cache musl-dev
WORKDIR /build
COPY collector-agent collector-agent
COPY backend/simcore backend/simcore
RUN cd collector-agent && cargo build --locked --release --package tierscope-agent

FROM scratch
COPY --from=build /build/collector-agent/target/release/tierscope-agent /usr/bin/tierscope-agent
USER 65534:65534
ENTRYPOINT ["/usr/bin/tierscope-agent"]
CMD ["run", "--config", "/etc/tierscope/agent.toml"]
