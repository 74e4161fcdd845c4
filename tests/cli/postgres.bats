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
  for ((i = 0; i < 30000; i++)); do
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

# An analyzer and a standby with one database, and a shuffler and clients that know both: sharing
sharing() {
  campaign
  server=$(mktemp -d /tmp/faro-postgres-XXXXXX) # not in $T: the server's user must reach it
  tests/support/postgres start "$server"
  database="postgresql:///postgres?host=$server&user=faro"
  sed -i '/^database:/d' "$T/analyzer.yaml"
  printf 'database: %s\nstate: %s\n' "$database" "$T/analyzer.keys" >>"$T/analyzer.yaml"
  local public=$(free_port) i
  sed "s|^listen:.*|listen: 127.0.0.1:$public|; s|^state:.*|state: $T/standby.keys|" "$T/analyzer.yaml" >"$T/standby.yaml"
  standby_url="http://127.0.0.1:$public"
  for i in shuffler 1 2 3; do echo "standby: $standby_url" >>"$T/$i.yaml"; done
}

@test "postgres: an analyzer is lost, and the one that waited goes on" {
  sharing
  declare -A pids
  faro 0 analyzer --check-config --config "$T/analyzer.yaml"
  not has "$output" "it is in the database"
  role_named analyzer analyzer "$T/analyzer.yaml"
  faro 0 analyzer --check-config --config "$T/standby.yaml"
  has "$output" "it is in the database"
  role_named standby analyzer "$T/standby.yaml"
  logged standby '"event":"standby"'
  faro 0 health "$standby_url"
  run get "$standby_url" /readyz
  has "$output" "standby: this analyzer serves nobody until it takes over"
  role_named shuffler shuffler "$T/shuffler.yaml"
  round 1 0.5
  round 2 1
  version 2
  kill -KILL "${pids[analyzer]}"
  logged standby '"event":"taken-over"'
  version 2
  role_named analyzer analyzer "$T/analyzer.yaml"
  logged analyzer '"event":"standby"'
  round 3 1
  round 1 1
  version 3
  faro 0 ledger verify --database "$database" --key "$T/analyzer.sign.public"
  faro 0 ledger verify --url "$standby_url" --key "$T/analyzer.sign.public"
  # the server is killed, and comes back
  tests/support/postgres kill "$server"
  logged standby '"event":"database-lost"'
  run get "$standby_url" /healthz
  has "$output" "database-lost: the database does not answer; see the log"
  faro 1 health "$standby_url"
  tests/support/postgres start "$server"
  local i
  for ((i = 0; i < 3000; i++)); do
    grep -q '"event":"database-back"' "$T/standby.log" && break
    grep -q '"event":"taken-over"' "$T/analyzer.log" && break # it was faster
    sleep 0.02
  done
  version 3
  stop shuffler
}

@test "postgres: an analyzer's settings, and commands that need a file" {
  sharing
  faro 3 backup analyzer --config "$T/analyzer.yaml" --out "$T/copy"
  has "$stderr" "the state is in a database server: it cannot be copied or moved as a file"
  sed '/^state:/d' "$T/analyzer.yaml" >"$T/no.yaml"
  faro 3 analyzer --check-config --config "$T/no.yaml"
  has "$stderr" "no.yaml: state is required with a database in a server"
  sed "s|^database:.*|database: $T/analyzer.db|" "$T/analyzer.yaml" >"$T/no.yaml"
  faro 3 analyzer --check-config --config "$T/no.yaml"
  has "$stderr" "no.yaml: state is for a database in a server"
  sed "s|^database:.*|database: mysql://me:secret@there/faro|" "$T/analyzer.yaml" >"$T/no.yaml"
  faro 3 analyzer --check-config --config "$T/no.yaml"
  has "$stderr" "database must be a URL postgresql://... (got mysql:...)"
  not has "$stderr" secret
  sed "\$a standby: {follow: true}" "$T/analyzer.yaml" >"$T/no.yaml"
  faro 3 analyzer --check-config --config "$T/no.yaml"
  has "$stderr" "standby must not be given with a database in a server"
  faro 3 ledger explain --database "$database"
  has "$stderr" "the database holds no state of an analyzer"
  tests/support/postgres stop "$server"
  faro 4 analyzer --check-config --config "$T/analyzer.yaml"
  echo 'fsync = off' >>"$server/data/postgresql.conf"
  tests/support/postgres start "$server"
  run --separate-stderr "$FARO" analyzer --config "$T/analyzer.yaml"
  [ "$status" -eq 3 ]
  has "$stderr" "PostgreSQL's setting fsync must be on, not off"
}

# Waits until an answer has the words: answers WORDS URL PATH [HEADER]
answers() {
  local i answer
  for ((i = 0; i < 3000; i++)); do
    answer=$(get "${@:2}" 2>&1) && [[ $answer == *"$1"* ]] && return 0
    sleep 0.02
  done
  echo "$3: $answer"
  return 1
}

# Reads a file of SQLite until the test ends it: reads FILE; sets reader
reads() {
  python3 -c '
import sqlite3, sys, time
file = sqlite3.connect(sys.argv[1], isolation_level=None)
file.execute("BEGIN")
file.execute("SELECT count(*) FROM keys").fetchall()
print("reads", flush=True)
time.sleep(600)' "$1" >"$T/reader.out" 3>&- &
  reader=$!
  started+=("$reader")
  local i
  for ((i = 0; i < 3000; i++)); do
    [ -s "$T/reader.out" ] && return 0
    sleep 0.02
  done
  return 1
}

@test "postgres: an archived campaign is served on, and again after a start" {
  sharing
  "$FARO" keys tokens --count 1 --out "$T/admin"
  local admin="http://127.0.0.1:$(free_port)" token="Authorization: Bearer $(cat "$T/admin.tokens")" i
  # of the central model: its release is sealed; sessions are not silent for long
  sed -i "/^shufflers:/,/url:/d; s/release: shuffle-bits/release: central-tree/" "$T/analyzer.yaml"
  sed -i "s|^database:.*|&\&options=-c%20idle_session_timeout%3D3s|; s/^state:/tokens: ${T//\//\\/}\/clients.hashes\n&/" "$T/analyzer.yaml"
  sed -i "1i admin-listen: ${admin#http://}\nadmin-tokens: $T/admin.hashes" "$T/analyzer.yaml"
  for i in 1 2 3; do echo "trust: joint" >>"$T/$i.yaml"; done
  declare -A pids
  role_named analyzer analyzer "$T/analyzer.yaml"
  round 1 0.5
  [ "$status" -eq 0 ]
  reads "$T/analyzer.keys"
  round 2 1
  [ "$status" -eq 0 ]
  version 2
  faro 0 campaign finish --url "$admin" --token "$T/admin.tokens"
  faro 0 campaign archive --url "$admin" --token "$T/admin.tokens"
  answers "database-log-not-emptied" "$analyzer_url" /healthz # keys that could not be wiped are wiped all the same
  kill "$reader"
  answers " 200 " "$analyzer_url" /healthz
  for i in 1 2; do
    sleep 5 # each answer is read anew: the last one would be given out again
    answers '"archived"' "$analyzer_url" "/v1/ledger?from=$i"
    answers '"state":"archived"' "$admin" /v1/status.json "$token"
    tests/support/postgres kill "$server" # all sessions end
    tests/support/postgres start "$server"
    answers '"archived"' "$analyzer_url" "/v1/ledger?from=1$i"
    answers '"state":"archived"' "$admin" /v1/status.json "$token"
    answers " 200 " "$analyzer_url" /healthz
    stop analyzer
    role_named analyzer analyzer "$T/analyzer.yaml"
    answers '"version":2' "$analyzer_url" /v1/policy
  done
  faro 0 ledger verify --url "$analyzer_url" --key "$T/analyzer.sign.public"
  stop analyzer
}

@test "postgres: a URL is not told to everybody, and its password to nobody" {
  campaign
  sed -i '/^database:/d' "$T/analyzer.yaml"
  echo "state: $T/analyzer.keys" >>"$T/analyzer.yaml"
  local wrong
  for wrong in '100%secret@there/faro' 'sec/secret@there/faro' 'se@secret@there/faro' 'secret@[::1/faro'; do
    sed "\$a database: 'postgresql://faro:$wrong'" "$T/analyzer.yaml" >"$T/wrong.yaml"
    faro 3 analyzer --check-config --config "$T/wrong.yaml"
    not has "$output$stderr" sec
    faro 3 analyzer --config "$T/wrong.yaml"
    has "$stderr" "the URL of the database cannot be read: in a password, % is written %25"
    not has "$output$stderr" sec
    faro 3 ledger explain --database "postgresql://faro:$wrong"
    not has "$output$stderr" sec
  done
  # what is no URL is not taken for the name of a file, and is not told either
  for wrong in 'postgresql:/faro:secret@db1/faro' 'postgresql//faro:secret@db1/faro' 'Postgres:faro:secret@db1' 'faro:secret@db1/faro' \
    'host=db1 user=faro password=secret dbname=faro' 'password = secret' 'mysql://faro:secret@db1/faro' 'db?user=faro&password=secret'; do
    sed "\$a database: '$wrong'" "$T/analyzer.yaml" >"$T/wrong.yaml"
    faro 3 analyzer --check-config --config "$T/wrong.yaml"
    has "$stderr" "wrong.yaml: database must be"
    not has "$output$stderr" secret
    sed "\$a database: $T/some.db\nafter:\n  - {database: '$wrong'}" "$T/analyzer.yaml" | sed '/^state:/d' >"$T/wrong.yaml"
    faro 3 analyzer --check-config --config "$T/wrong.yaml"
    has "$stderr" "wrong.yaml: after[].database must be"
    not has "$output$stderr" secret
    sed "\$a database: 'postgresql://there'" "$T/analyzer.yaml" | sed "s|^state:.*|state: '$wrong'|" >"$T/wrong.yaml"
    faro 3 analyzer --check-config --config "$T/wrong.yaml"
    has "$stderr" "wrong.yaml: state must be the path of a file"
    not has "$output$stderr" secret
    (cd "$T" && faro 3 ledger explain --database "$wrong" && has "$stderr" "database must be" && not has "$output$stderr" secret)
  done
  [ -z "$(find "$T" -name '*secret*' ! -name '*.secret')" ]
  # one that nobody answers: the analyzer waits
  echo "database: 'postgresql://someone:secret@127.0.0.1:$(free_port)/faro'" >>"$T/analyzer.yaml"
  declare -A pids
  role_named analyzer analyzer "$T/analyzer.yaml"
  logged analyzer '"event":"not-taken-over"'
  answers "database-lost: the database cannot be used; see the log" "$analyzer_url" /healthz
  not has "$(get "$analyzer_url" /healthz)" someone
  not has "$(get "$analyzer_url" /metrics)" someone
  not grep -q secret "$T/analyzer.log"
  stop analyzer
}

# The analyzers collect reports themselves: direct
direct() {
  local i
  sharing
  sed -i "/^shufflers:/,/url:/d; s/release: shuffle-bits/release: central-tree/; s/^state:/tokens: ${T//\//\\/}\/clients.hashes\n&/" "$T/analyzer.yaml" "$T/standby.yaml"
  for i in 1 2 3; do echo "trust: joint" >>"$T/$i.yaml"; done
}

@test "postgres: an intake that is lost is not founded again" {
  direct
  declare -A pids
  role_named analyzer analyzer "$T/analyzer.yaml"
  round 1 0.5
  [ "$status" -eq 0 ] && [ -z "$stderr" ]
  stop analyzer
  local intake=$(psql -qAt -h "$server" -U faro postgres -c "SELECT nspname FROM pg_namespace WHERE nspname LIKE 'faro%0'")
  psql -q -h "$server" -U faro postgres -c "ALTER SCHEMA $intake RENAME TO away"
  run --separate-stderr timeout 120 "$FARO" analyzer --config "$T/analyzer.yaml"
  [ "$status" -eq 3 ]
  has "$stderr" "the database holds nothing of this campaign, but reports were collected for it before"
  psql -q -h "$server" -U faro postgres -c "ALTER SCHEMA away RENAME TO $intake"
  role_named analyzer analyzer "$T/analyzer.yaml"
  round 2 1
  version 2
  stop analyzer
  psql -q -h "$server" -U faro postgres -c "DELETE FROM faro_analyzer.campaign"
  faro 3 ledger explain --database "$database&password=secret"
  has "$stderr" "the database in the server has no campaign yet"
}

@test "postgres: a standby says that keys could not be wiped, and wipes them later" {
  direct
  declare -A pids
  role_named analyzer analyzer "$T/analyzer.yaml"
  role_named standby analyzer "$T/standby.yaml"
  answers " 200 " "$standby_url" /healthz
  local batch=1 file
  for file in standby.keys standby.keys.intake; do
    reads "$T/$file"
    round $batch 0.5
    [ "$status" -eq 0 ]
    round $((batch + 1)) 1
    [ "$status" -eq 0 ]
    version $((batch + 1))
    answers "database-log-not-emptied: keys of batches cannot be published, or wiped" "$standby_url" /healthz
    kill "$reader"
    answers " 200 " "$standby_url" /healthz
    rm "$T/reader.out"
    batch=$((batch + 1))
  done
  faro 0 health "$standby_url"
  stop standby
  stop analyzer
}

# What the server says: says SQL
says() { psql -qAt -h "$server" -U faro postgres -c "$1"; }

@test "postgres: a change of state whose answer is lost is found in the database" {
  sharing
  "$FARO" keys tokens --count 1 --out "$T/admin"
  local admin="http://127.0.0.1:$(free_port)" token="Authorization: Bearer $(cat "$T/admin.tokens")" i
  sed -i "1i admin-listen: ${admin#http://}\nadmin-tokens: $T/admin.hashes" "$T/analyzer.yaml"
  declare -A pids
  role_named analyzer analyzer "$T/analyzer.yaml"
  answers '"state":"open"' "$admin" /v1/status.json "$token"
  says "ALTER SYSTEM SET synchronous_standby_names = 'nobody'" # commits wait for a replica that is not there
  says "SELECT pg_reload_conf()"
  "$FARO" campaign pause --url "$admin" --token "$T/admin.tokens" >"$T/pause.out" 2>&1 3>&- &
  local pause=$!
  for ((i = 0; i < 3000; i++)); do # the server keeps it, and answers that it may not have the replica's word
    [ "$(says "SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity WHERE wait_event = 'SyncRep'")" = 0 ] || break
    sleep 0.02
  done
  says "ALTER SYSTEM SET synchronous_standby_names = ''"
  says "SELECT pg_reload_conf()"
  wait "$pause" || true
  [ "$(says "SELECT state FROM faro_analyzer.life ORDER BY number DESC LIMIT 1")" = paused ]
  answers '"state":"paused"' "$admin" /v1/life "$token" # as the analyzer has it in memory
  grep -q '"event":"campaign-is","state":"paused"' "$T/analyzer.log"
  stop analyzer
}

@test "postgres: a replica that lacks a batch is refused by the analyzer that applied it" {
  sharing
  tests/support/postgres replica "$server"
  says "ALTER SYSTEM SET synchronous_standby_names = ''" # nobody waits for it
  says "SELECT pg_reload_conf()"
  sed -i "s|^database:.*|database: postgresql:///postgres?host=$server,$server/replica\&user=faro|" "$T/analyzer.yaml"
  declare -A pids
  role_named analyzer analyzer "$T/analyzer.yaml"
  role_named shuffler shuffler "$T/shuffler.yaml"
  round 1 0.5
  round 2 1
  version 2
  local i
  for ((i = 0; i < 3000; i++)); do # it has the first batch
    [ "$(psql -qAt -h "$server/replica" -U faro postgres -c 'SELECT count(*) FROM faro_analyzer.ledger')" = 1 ] && break
    sleep 0.02
  done
  tests/support/postgres kill "$server/replica"
  round 3 1
  round 1 1
  version 3
  tests/support/postgres kill "$server"
  tests/support/postgres start "$server/replica"
  tests/support/postgres promote "$server"
  logged analyzer '"event":"database-old"'
  answers "database-lost: the database is an old copy, or a replica that was behind" "$analyzer_url" /healthz
  round 2 1
  round 3 1
  [ "$(psql -qAt -h "$server/replica" -U faro postgres -c 'SELECT count(*), max(batch) FROM faro_analyzer.ledger')" = "1|0" ]
  version 3
  stop analyzer
  faro 3 analyzer --check-config --config "$T/analyzer.yaml" # nor after a start
  has "$stderr" "an old copy was restored"
  stop shuffler
}
