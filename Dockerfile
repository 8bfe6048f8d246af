# pqd with all of its extras.  The tables lie in the folder that is mounted as /data:
#   docker build -t pqd .
#   docker run --rm --network none --user "$(id -u):$(id -g)" -v "$PWD:/data" pqd --help
FROM python:3.12-slim@sha256:78387bc3881b8273120a12ebe6c1ab22b018ccc2c9adf565ae1ac9b536e184ea AS build
WORKDIR /source
RUN python -m venv /opt/pqd
COPY requirements-run.lock ./
RUN /opt/pqd/bin/python -m pip install --no-cache-dir --require-hashes -r requirements-run.lock
COPY pyproject.toml README.md LICENSE ./
COPY deciders deciders
COPY reports reports
COPY pqd pqd
RUN /opt/pqd/bin/python -m pip install --no-cache-dir --no-deps --no-build-isolation .

FROM python:3.12-slim@sha256:78387bc3881b8273120a12ebe6c1ab22b018ccc2c9adf565ae1ac9b536e184ea
COPY --from=build /opt/pqd /opt/pqd
ENV PATH="/opt/pqd/bin:$PATH" MPLCONFIGDIR=/tmp
WORKDIR /data
USER 1000:1000
ENTRYPOINT ["pqd"]
CMD ["--help"]
