# faro in a container, from Debian packages alone: `make image`, then `docker run --rm faro run trust-models`.
# The first stage builds the Debian package, the second installs it.
FROM debian:12-slim AS build
RUN apt-get update -qq && apt-get install -y -qq --no-install-recommends make git >/dev/null
COPY . /faro
WORKDIR /faro
RUN make deb

FROM debian:12-slim
RUN --mount=type=bind,from=build,source=/faro/build,target=/built \
    apt-get update -qq && apt-get install -y -qq --no-install-recommends /built/faro_*.deb >/dev/null && \
    rm -rf /var/lib/apt/lists/*
# results go to the folder that is mounted here: docker run --rm -v "$PWD:/work" faro run trust-models
WORKDIR /work
ENTRYPOINT ["faro"]
CMD ["--help"]
