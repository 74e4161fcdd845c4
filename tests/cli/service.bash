# What the tests of the service share.

# The 64 digits of a public key: key FILE
key() { "$FARO" keys show "$1" | sed -n 's/^public key: *//p'; }

# A role in the background, on a port of its own choice: role NAME ROLE FILE; sets url
role() {
  : >"$T/$1.log"
  "$FARO" "$2" --config "$3" >/dev/null 2>"$T/$1.log" 3>&- &
  started+=("$!")
  local i port
  for ((i = 0; i < 12000; i++)); do
    port=$(sed -n 's/.*"event":"ready".*"port":\([0-9]*\)[,}].*/\1/p' "$T/$1.log") # the line may be half there
    [ -n "$port" ] && break
    kill -0 "$!" 2>/dev/null || break
    sleep 0.01
  done
  url="http://127.0.0.1:$port"
  [ -n "$port" ] || {
    cat "$T/$1.log"
    return 1
  }
}

# A free port for a role that is started later. It is held as long as the test runs: tests that run beside it do not get it, and the
# system gives out no such ports.
free_port() {
  local port holds=/tmp/faro-test-ports-$UID hold
  mkdir -p "$holds"
  for (( ; ; )); do
    port=$((20000 + (RANDOM << 3 ^ RANDOM) % 12000)) # below those that the system gives out
    hold=$holds/$port
    if ! (set -o noclobber && echo $$ >"$hold") 2>/dev/null; then
      kill -0 "$(cat "$hold")" 2>/dev/null && continue
      echo $$ >"$hold" # its test has ended
    fi
    (exec 9<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || break
  done
  echo "$port"
}

# What a server answers: get URL PATH [HEADER]
get() { ask GET "$@"; }

# The same with another method: ask METHOD URL PATH [HEADER]
ask() {
  local place=${2#http://}
  exec 9<>"/dev/tcp/${place%:*}/${place#*:}"
  printf '%s %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n%s\r\n' "$1" "$3" "$place" "${4:+$4$'\r\n'}" >&9
  cat <&9
  exec 9>&-
}

# Keys, tokens and configurations of a campaign with batches of two.
campaign() {
  "$FARO" keys sign --out "$T/analyzer.sign" && "$FARO" keys seal --out "$T/analyzer.seal"
  "$FARO" keys sign --out "$T/shuffler-0.sign" && "$FARO" keys tokens --count 3 --out "$T/clients"
  local analyzer=$(free_port) shuffler=$(free_port)
  cat >"$T/analyzer.yaml" <<EOF
listen: 127.0.0.1:$analyzer
url: http://127.0.0.1:$analyzer
database: $T/analyzer.db
sign: $T/analyzer.sign.secret
seal: $T/analyzer.seal.secret
campaign: {id: walk, dimension: 2, arms: 3, release: shuffle-bits, epsilon: 4, delta: 1e-3, level: user,
  contributions: 2, honest: 1, batch: 2, horizon: 6}
shufflers:
  - {url: "http://127.0.0.1:$shuffler", key: $(key "$T/shuffler-0.sign.public")}
EOF
  cat >"$T/shuffler.yaml" <<EOF
listen: 127.0.0.1:$shuffler
state: $T/shuffler.db
key: $T/shuffler-0.sign.secret
tokens: $T/clients.hashes
analyzer: http://127.0.0.1:$analyzer
analyzer-key: $(key "$T/analyzer.sign.public")
EOF
  analyzer_url="http://127.0.0.1:$analyzer"
  local i
  for i in 1 2 3; do
    sed -n "${i}p" "$T/clients.tokens" >"$T/$i.token"
    chmod 600 "$T/$i.token"
    cat >"$T/$i.yaml" <<EOF
analyzer: $analyzer_url
key: $(key "$T/analyzer.sign.public")
token: $T/$i.token
state: $T/$i.state
epsilon: 4
delta: 1e-3
honest: 1
EOF
  done
}

# A round of client I: round I REWARD
round() { run --separate-stderr "$FARO" client --config "$T/$1.yaml" <<<"$(printf '1 0; 0 1\n%s\n' "$2")"; }

# Sequence number and policy version in the state of a client: kept FILE
kept() { od -An -tu8 -j52 -N16 "$1" | awk '{ print $1, $2 }'; }

# Waits until the analyzer publishes a version: version V
version() {
  local i
  for ((i = 0; i < 6000; i++)); do
    "$FARO" client --config "$T/3.yaml" --show | grep -q "^policy: *version $1\$" && return 0
    sleep 0.02
  done
  return 1
}

# A role whose process is known by its name: role_named NAME ROLE FILE; the test declares the map `pids`
role_named() {
  role "$@"
  pids[$1]=${started[-1]}
}

# Ends such a role: stop NAME
stop() { kill -TERM "${pids[$1]}" && wait "${pids[$1]}"; }

# Waits for an event in the log of a role: logged NAME EVENT
logged() {
  local i
  for ((i = 0; i < 12000; i++)); do
    grep -q "\"event\":\"$2\"" "$T/$1.log" && return 0
    sleep 0.01
  done
  return 1
}
