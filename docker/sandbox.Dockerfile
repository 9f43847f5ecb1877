# What compilers, problems and candidates run in: a toolchain, Python, torch and Kernelwright's runner. No credentials,
# no shell scripts, no root. Containers get no network, so everything that a candidate may import must be in here.
ARG BASE=python:3.11.13-slim-bookworm
FROM ${BASE}
ARG VERSION
# An index with builds of torch for the device: for NVIDIA GPUs https://download.pytorch.org/whl/cu130
ARG TORCH_INDEX=https://download.pytorch.org/whl/cpu

RUN apt-get update \
    && apt-get install --yes --no-install-recommends g++ \
    && (command -v python3 && python3 -m venv --help >/dev/null || apt-get install --yes --no-install-recommends python3 python3-venv) \
    && rm -rf /var/lib/apt/lists/*
COPY constraints.txt /opt/kernelwright/
RUN python3 -m venv /opt/venv \
    && /opt/venv/bin/pip install --no-cache-dir --extra-index-url "${TORCH_INDEX}" \
       --constraint /opt/kernelwright/constraints.txt torch numpy \
    && echo /opt/kernelwright > "$(/opt/venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/kernelwright.pth"
COPY services /opt/kernelwright/services
COPY workers /opt/kernelwright/workers
COPY kernelwright_rt.py /opt/kernelwright/
RUN /opt/venv/bin/python -m compileall -q /opt/kernelwright

LABEL kernelwright.version=${VERSION}
ENV KERNELWRIGHT_VERSION=${VERSION}
USER 65532:65532
ENTRYPOINT ["/opt/venv/bin/python", "-P", "-m", "workers.sandboxes.docker_init"]
