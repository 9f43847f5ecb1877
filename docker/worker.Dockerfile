# A worker. It is the sandbox image and the program, so that a key of its cache of compiled kernels names the compiler
# that its containers really have. It talks to the database, the broker and the Docker daemon, and runs nobody's code.
ARG SANDBOX
FROM ${SANDBOX}
USER 0:0
COPY . /src
# The runner's packages come with the program: /opt/kernelwright, where the sandbox image has them, is not needed here.
RUN rm -rf /opt/kernelwright /opt/venv/lib/python*/site-packages/kernelwright.pth \
    && /opt/venv/bin/pip install --no-cache-dir --constraint /src/constraints.txt /src \
    && rm -rf /src \
    && mkdir --mode 0700 /var/lib/kernelwright /var/lib/kernelwright-compiled \
    && chown 65532:65532 /var/lib/kernelwright /var/lib/kernelwright-compiled
ENV PATH=/opt/venv/bin:$PATH KERNELWRIGHT_HOME=/var/lib/kernelwright
USER 65532:65532
VOLUME /var/lib/kernelwright
ENTRYPOINT ["kernelwright"]
CMD ["worker"]
