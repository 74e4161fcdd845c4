# faro in a container, from Debian packages alone: `make image`. The first stage builds the Debian package, the second installs
# it, without BLAS, which roles do not need and which is the largest part. The command runs as user 10001, needs no capability,
# and writes only to volumes: the root file system may be read-only.
FROM debian:12-slim AS build
RUN apt-get update -qq && apt-get install -y -qq --no-install-recommends make git >/dev/null
COPY . /faro
WORKDIR /faro
RUN BLAS=OFF make deb

FROM debian:12-slim
RUN --mount=type=bind,from=build,source=/faro/build,target=/built \
    apt-get update -qq && apt-get install -y -qq --no-install-recommends ca-certificates /built/faro_*.deb >/dev/null && \
    rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/log/*.log /var/log/apt && \
    useradd --uid 10001 --user-group --home-dir /var/lib/faro --no-create-home --shell /usr/sbin/nologin faro && \
    install -d -m 700 -o faro -g faro /var/lib/faro /var/lib/faro/analyzer /var/lib/faro/shuffler /var/lib/faro/clients
USER 10001:10001
# results go to the folder that is mounted here:
#     docker run --rm --user "$(id -u):$(id -g)" -v "$PWD:/work" faro:0.1.0 run trust-models
WORKDIR /work
ENTRYPOINT ["faro"]
CMD ["--help"]
