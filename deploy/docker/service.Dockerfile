# The service in all its roles: `tierscope serve`, `worker`, `beat`, `migrate`.
ARG PYTHON_IMAGE=python:3.13-slim-bookworm
ARG NODE_IMAGE=node:22-bookworm-slim

FROM ${NODE_IMAGE} AS dashboard
WORKDIR /build/frontend
COPY frontend/package.json frontend/package-lock.json frontend/.npmrc ./
RUN npm ci
COPY contract/openapi.json /build/contract/openapi.json
COPY frontend ./
RUN npm run build

FROM ${PYTHON_IMAGE} AS package
WORKDIR /build
RUN python -m venv /opt/tierscope
COPY requirements.lock ./
RUN /opt/tierscope/bin/python -m pip install --no-cache-dir --require-hashes --requirement requirements.lock
COPY pyproject.toml hatch_build.py README.md LICENSE ./
COPY backend/tierscope backend/tierscope
COPY migrations migrations
COPY tests/data tests/data
COPY --from=dashboard /build/frontend/dist frontend/dist
RUN /opt/tierscope/bin/python -m pip install --no-cache-dir --no-deps .

FROM ${PYTHON_IMAGE}
RUN useradd --system --uid 10480 --home-dir /var/lib/tierscope --create-home tierscope
COPY --from=package /opt/tierscope /opt/tierscope
ENV PATH=/opt/tierscope/bin:$PATH PYTHONUNBUFFERED=1
USER tierscope
EXPOSE 8480
CMD ["tierscope", "serve"]
