# graphmae on a CPU. In the root of the repository:
#   docker build -f docker/cpu.Dockerfile -t graphmae .
#   docker run --rm graphmae                                        the demo
#   docker run --rm -v "$PWD:/work" graphmae pretrain nodes.csv edges.csv --label topic
FROM python:3.11-slim

# On Linux the default build of torch may bring gigabytes of CUDA libraries: --build-arg TORCH_INDEX=ADDRESS takes it from
# PyTorch's index of CPU builds instead.
ARG TORCH=2.13.0
ARG TORCH_INDEX=
RUN pip install --no-cache-dir ${TORCH_INDEX:+--index-url "$TORCH_INDEX"} "torch==${TORCH}"

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
