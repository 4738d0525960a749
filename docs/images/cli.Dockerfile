# The command line without Spark:
#   docker build -f docs/images/cli.Dockerfile --build-arg VERSION=$(.venv/bin/python -m hatchling version) -t groupscope .
FROM python:3.12-slim-bookworm AS build
WORKDIR /source
COPY docs/images/cli.lock ./
RUN python -m venv /opt/groupscope \
 && /opt/groupscope/bin/pip install --no-cache-dir --require-hashes -r cli.lock
COPY . .
# The sources come without their history, from which a version is told otherwise.
ARG VERSION=0.0.0
ENV SETUPTOOLS_SCM_PRETEND_VERSION=$VERSION
# The wheel is built in an environment of its own, and installed without asking for anything more.
RUN python -m pip wheel --no-cache-dir --no-deps --wheel-dir /wheels . \
 && /opt/groupscope/bin/pip install --no-cache-dir --no-deps /wheels/groupscope-*.whl

FROM python:3.12-slim-bookworm
LABEL org.opencontainers.image.title="groupscope" org.opencontainers.image.licenses="Apache-2.0"
RUN useradd --create-home --uid 10001 groupscope
COPY --from=build /opt/groupscope /opt/groupscope
ENV PATH=/opt/groupscope/bin:$PATH PYTHONDONTWRITEBYTECODE=1
USER 10001
WORKDIR /logs
ENTRYPOINT ["groupscope"]
CMD ["--help"]
