# A shuffler in PostgreSQL: two front-ends as processes, one of which is lost for good.

load support
load service

setup() {
  [ -n "${FARO_SLOW_TESTS:-}" ] || skip "slow"
  faro_setup
}

teardown() {
  [ -z "${server:-}" ] || tests/support/postgres stop "$server"
  [ -z "${server:-}" ] || rm -rf "$server"
  faro_teardown
}

# A server, and a second front-end with its own keys and port.
front_ends() {
  server=$(mktemp -d /tmp/faro-postgres-XXXXXX) # not in $T: the server's user must reach it
  tests/support/postgres start "$server"
  echo "database: postgresql:///postgres?host=$server&user=faro" >>"$T/shuffler.yaml"
  sed "s,^listen: .*,listen: 127.0.0.1:$(free_port),; s,^state: .*,state: $T/other.keys," "$T/shuffler.yaml" >"$T/other.yaml"
}

# Waits for a line in the log of a role: logged NAME PATTERN
logged() {
  local i
  for ((i = 0; i < 3000; i++)); do
    grep -q "$2" "$T/$1.log" && return 0
    sleep 0.02
  done
  cat "$T/$1.log"
  return 1
}

@test "postgres: a front-end is lost with its disk, and the batch goes on" {
  campaign
  front_ends
  faro 0 shuffler --check-config --config "$T/shuffler.yaml"
  declare -A pids
  role_named analyzer analyzer "$T/analyzer.yaml"
  role_named first shuffler "$T/shuffler.yaml"
  local first=$url
  role_named other shuffler "$T/other.yaml"
  round 1 0.5
  [ "$status" -eq 0 ] && [ -z "$stderr" ]
  kill -KILL "${pids[first]}"
  rm "$T/shuffler.db"*
  stop other
  # it takes over the address, as a proxy in front of both would arrange
  sed -i "s,^listen: .*,listen: ${first#http://}," "$T/other.yaml"
  faro 0 shuffler --check-config --config "$T/other.yaml"
  role_named again shuffler "$T/other.yaml"
  grep -q '"event":"ready".*"batch":0,"held":1,"waiting":0' "$T/again.log"
  round 2 1
  [ "$status" -eq 0 ] && [ -z "$stderr" ]
  version 2
  logged again '"event":"batch-closed","batch":0,"reports":2'
  logged again '"event":"batch-sent","batch":0'
  # the server is killed, and comes back: what cannot be stored waits at the client
  tests/support/postgres kill "$server"
  round 3 1
  has "$stderr" "1 report waits"
  logged again '"event":"database-lost"'
  run get "$first" /readyz
  has "$output" "the database does not answer; see the log"
  tests/support/postgres start "$server"
  logged again '"event":"database-back"'
  local i
  for ((i = 0; i < 600; i++)); do
    faro 0 client --config "$T/3.yaml" --flush
    [ -n "$stderr" ] || break
    sleep 0.1
  done
  [ -z "$stderr" ]
  round 1 1
  version 3
  stop again
  stop analyzer
}

@test "postgres: what cannot be a database is refused" {
  campaign
  echo "database: mysql://me:secret@there" >>"$T/shuffler.yaml"
  faro 3 shuffler --check-config --config "$T/shuffler.yaml"
  has "$stderr" "shuffler.yaml: database must be a URL postgresql://... (got mysql:...)"
  not has "$stderr" secret
  sed -i '/mysql/d' "$T/shuffler.yaml"
  front_ends
  declare -A pids
  role_named analyzer analyzer "$T/analyzer.yaml"
  sed 's,^database:.*,,' "$T/shuffler.yaml" >"$T/file.yaml"
  role_named file shuffler "$T/file.yaml"
  stop file
  faro 3 shuffler --check-config --config "$T/shuffler.yaml" # the state is in the file, and stays there
  has "$stderr" "shuffler.db is not a database of keys of batches in a database server"
  tests/support/postgres stop "$server"
  echo 'fsync = off' >>"$server/data/postgresql.conf"
  tests/support/postgres start "$server"
  run --separate-stderr "$FARO" shuffler --config "$T/other.yaml"
  [ "$status" -eq 3 ]
  has "$stderr" "PostgreSQL's setting fsync must be on, not off"
  stop analyzer
}
