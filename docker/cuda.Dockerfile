# graphmae on an NVIDIA GPU; the host needs its driver and the NVIDIA container toolkit. In the root of the repository:
#   docker build -f docker/cuda.Dockerfile -t graphmae:cuda .
#   docker run --rm --gpus all graphmae:cuda                         the demo
#   docker run --rm --gpus all -v "$PWD:/work" graphmae:cuda run node/cora --seeds 0-19
FROM python:3.11-slim

# Triton compiles the CUDA kernels when they are first used, and calls a C compiler for it.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends gcc libc6-dev \
    && rm -rf /var/lib/apt/lists/*

# On Linux the default build of torch brings its CUDA libraries with it, and Triton.
ARG TORCH=2.13.0
ARG TORCH_INDEX=
RUN pip install --no-cache-dir ${TORCH_INDEX:+--index-url "$TORCH_INDEX"} "torch==${TORCH}" \
    && python -c "import torch, triton; assert torch.version.cuda, 'this is a CPU build of torch: set TORCH_INDEX'"

WORKDIR /opt/graphmae
COPY pyproject.toml README.md LICENSE ./
COPY src ./src
RUN pip install --no-cache-dir ".[mol,excel]"

RUN useradd --create-home --uid 1000 graphmae && mkdir /work && chown graphmae /work
USER graphmae
WORKDIR /work
ENV GRAPHMAE_CACHE=/home/graphmae/.cache/graphmae
ENTRYPOINT ["graphmae"]
CMD ["demo"]
