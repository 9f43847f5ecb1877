# What compilers, problems and candidates run in: a toolchain, Python, torch and Kernelwright's runner. No credentials,
# no shell scripts, no root. Containers get no network, so everything that a candidate may import must be in here.
ARG BASE=python:3.11.13-slim-bookworm
FROM ${BASE}
ARG VERSION
# `cuda` for NVIDIA GPUs: torch with CUDA, Triton, nvcc and NVIDIA's disassemblers beside the C++ toolchain.
ARG FOR=cpu
# An index with builds of torch that PyPI does not have.
ARG TORCH_INDEX=https://download.pytorch.org/whl/cpu

RUN apt-get update \
    && apt-get install --yes --no-install-recommends g++ \
    && { { command -v python3 && python3 -m venv --help >/dev/null; } || apt-get install --yes --no-install-recommends python3 python3-venv; } \
    && rm -rf /var/lib/apt/lists/*
COPY constraints.txt docker/requirements-${FOR}.txt docker/cuda-toolkit.txt docker/install-cuda.sh /opt/kernelwright/
# constraints.txt has the Triton that interprets kernels on CPUs, which is another than the one of torch with CUDA.
RUN python3 -m venv /opt/venv \
    && sed '/^triton==/d' /opt/kernelwright/constraints.txt >/tmp/constraints.txt \
    && /opt/venv/bin/pip install --no-cache-dir --extra-index-url "${TORCH_INDEX}" \
       --constraint /tmp/constraints.txt --requirement "/opt/kernelwright/requirements-${FOR}.txt" \
    && rm /tmp/constraints.txt \
    && if [ "${FOR}" = cuda ]; then /opt/kernelwright/install-cuda.sh /opt/venv/bin/python /opt/kernelwright/cuda-toolkit.txt; fi \
    && echo /opt/kernelwright > "$(/opt/venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/kernelwright.pth"
COPY services /opt/kernelwright/services
COPY workers /opt/kernelwright/workers
COPY kernelwright_rt.py /opt/kernelwright/
RUN /opt/venv/bin/python -m compileall -q /opt/kernelwright

LABEL kernelwright.version=${VERSION} kernelwright.for=${FOR}
ENV KERNELWRIGHT_VERSION=${VERSION}
USER 65532:65532
ENTRYPOINT ["/opt/venv/bin/python", "-P", "-m", "workers.sandboxes.docker_init"]
