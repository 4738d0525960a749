# The job with Spark and Delta:
#   docker build -f docs/images/spark.Dockerfile --build-arg VERSION=$(.venv/bin/python -m hatchling version) -t groupscope-spark .
FROM python:3.12-slim-bookworm AS build
# Maven fetches Delta's jars (docs/examples/jars.xml), so that no run needs a network for them.
RUN apt-get update \
 && apt-get install --yes --no-install-recommends maven \
 && rm -rf /var/lib/apt/lists/*
WORKDIR /source
COPY docs/images/spark.lock docs/examples/jars.xml ./
RUN python -m venv /opt/groupscope \
 && /opt/groupscope/bin/pip install --no-cache-dir --require-hashes -r spark.lock
RUN mvn --batch-mode --quiet --file jars.xml dependency:copy-dependencies -DoutputDirectory=/opt/groupscope/jars
COPY . .
# The sources come without their history, from which a version is told otherwise.
ARG VERSION=0.0.0
ENV SETUPTOOLS_SCM_PRETEND_VERSION=$VERSION
RUN python -m pip wheel --no-cache-dir --no-deps --wheel-dir /wheels . \
 && /opt/groupscope/bin/pip install --no-cache-dir --no-deps /wheels/groupscope-*.whl

FROM python:3.12-slim-bookworm
LABEL org.opencontainers.image.title="groupscope with Spark" org.opencontainers.image.licenses="Apache-2.0"
# procps: Spark's scripts call ps.
RUN apt-get update \
 && apt-get install --yes --no-install-recommends openjdk-17-jre-headless procps \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --create-home --uid 10001 groupscope
COPY --from=build /opt/groupscope /opt/groupscope
ENV PATH=/opt/groupscope/bin:$PATH GROUPSCOPE_JARS=/opt/groupscope/jars
USER 10001
WORKDIR /home/groupscope
ENTRYPOINT ["groupscope"]
CMD ["run", "--help"]
