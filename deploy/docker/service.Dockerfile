# The service in all its roles: `tierscope serve`, `worker`, `beat`, `migrate`. Target `web` adds the dashboard.
# No image holds a compiler, a package manager's cache, tests or development packages.
ARG PYTHON_IMAGE=python:3.11-slim-bookworm
ARG NODE_IMAGE=node:22-bookworm-slim
ARG RUST_IMAGE=rust:1-slim-bookworm

FROM ${NODE_IMAGE} AS dashboard
WORKDIR /build/frontend
COPY frontend/package.json frontend/package-lock.json frontend/.npmrc ./
RUN npm ci
COPY contract/openapi.json /build/contract/openapi.json
COPY frontend ./
RUN npm run build

# The compiled core: the simulator, and the reader of Prometheus remote write.
FROM ${RUST_IMAGE} AS rust

FROM ${PYTHON_IMAGE} AS core
RUN apt-get update && apt-get install --yes --no-install-recommends gcc libc6-dev && rm -rf /var/lib/apt/lists/*
COPY --from=rust /usr/local/cargo /usr/local/cargo
COPY --from=rust /usr/local/rustup /usr/local/rustup
ENV CARGO_HOME=/usr/local/cargo RUSTUP_HOME=/usr/local/rustup PATH=/usr/local/cargo/bin:$PATH
WORKDIR /build
COPY requirements.lock ./
RUN grep -A1000 '^maturin==' requirements.lock | awk 'NR > 1 && /^[A-Za-z0-9]/ { exit } { print }' > maturin.lock \
    && python -m venv /build/tools && /build/tools/bin/python -m pip install --no-cache-dir --require-hashes --no-deps --requirement maturin.lock
COPY collector-agent collector-agent
COPY backend/simcore backend/simcore
RUN /build/tools/bin/maturin build --locked --release --manifest-path backend/simcore/Cargo.toml \
    --interpreter python3 --out /build/wheels

FROM ${PYTHON_IMAGE} AS package
WORKDIR /build
RUN python -m venv /opt/tierscope
COPY requirements-runtime.lock ./
RUN /opt/tierscope/bin/python -m pip install --no-cache-dir --require-hashes --requirement requirements-runtime.lock
COPY pyproject.toml hatch_build.py README.md LICENSE ./
COPY backend/tierscope backend/tierscope
COPY migrations migrations
RUN /opt/tierscope/bin/python -m pip install --no-cache-dir --no-deps .
COPY --from=core /build/wheels /build/wheels
RUN /opt/tierscope/bin/python -m pip install --no-cache-dir --no-deps --no-index /build/wheels/*.whl \
    && /opt/tierscope/bin/python -m pip uninstall --yes pip \
    && /opt/tierscope/bin/python -m compileall -q /opt/tierscope/lib

FROM ${PYTHON_IMAGE} AS service
RUN useradd --system --uid 10480 --home-dir /var/lib/tierscope --create-home tierscope
COPY --from=package /opt/tierscope /opt/tierscope
ENV PATH=/opt/tierscope/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
USER 10480
EXPOSE 8480
CMD ["tierscope", "serve"]

FROM service AS web
COPY --from=dashboard /build/frontend/dist /opt/tierscope-dashboard
ENV TIERSCOPE_FRONTEND_DIR=/opt/tierscope-dashboard
