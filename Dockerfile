# syntax=docker/dockerfile:1
FROM python:3.12-slim AS build
RUN pip install --no-cache-dir "uv>=0.9"
WORKDIR /src
ENV UV_LINK_MODE=copy UV_PROJECT_ENVIRONMENT=/opt/memstream
COPY pyproject.toml uv.lock README.md LICENSE ./
COPY client client
RUN uv sync --frozen --no-dev --extra otel --no-install-workspace
COPY models models
COPY topics topics
COPY storage storage
COPY learning learning
COPY retrieval retrieval
COPY agents agents
COPY memstream memstream
RUN uv sync --frozen --no-dev --extra otel --no-editable
# The model is converted here, once, rather than at every container's first start.
RUN /opt/memstream/bin/python -c "import asyncio, pathlib; from retrieval.embedding import open_embedder; \
    asyncio.run(open_embedder('onnx', cache_dir=pathlib.Path('/data/models')))"

FROM python:3.12-slim
RUN useradd --uid 10001 --create-home memstream
COPY --from=build /opt/memstream /opt/memstream
COPY --from=build --chown=memstream /data /data
ENV PATH=/opt/memstream/bin:$PATH \
    MEMSTREAM_DATA_DIR=/data \
    MEMSTREAM_WEB_HOST=0.0.0.0 \
    MEMSTREAM_LOG_FORMAT=json
USER memstream
WORKDIR /home/memstream
VOLUME /data
EXPOSE 6066
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:6066/healthz', timeout=2)"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["memstream"]
CMD ["worker"]
