# Copies of states: what a restored copy may do, and that nothing counts twice, with real processes.

load support
load service

setup() { faro_setup && declare -gA pids=(); }
teardown() { faro_teardown; }

# One batch is applied; both roles run.
running() {
  campaign
  role_named analyzer analyzer "$T/analyzer.yaml"
  role_named shuffler shuffler "$T/shuffler.yaml"
  round 1 0.5 && round 2 1
  version 2
}

# Takes the database away, as a lost disk would.
lose() {
  mkdir -p "$T/lost"
  mv "$T"/analyzer.db* "$T/lost"
}

# Waits until a health check says the words, or "well": health WORDS
health() {
  local i
  for ((i = 0; i < 12000; i++)); do
    run get "$analyzer_url" /healthz
    [[ $output == *"$1"* ]] && return 0
    sleep 0.02
  done
  echo "$output"
  return 1
}

@test "backup: a copy that is the newest state goes on, once the shuffler has said so" {
  slow_test
  running
  faro 0 backup analyzer --config "$T/analyzer.yaml" --out "$T/copy" # while it runs
  has "$output" "campaign walk after 1 batches"
  [ "$(stat -c %a "$T/copy")" = 600 ]
  faro 4 backup analyzer --config "$T/analyzer.yaml" --out "$T/copy" # never overwritten
  round 3 0 # in the open batch
  [ "$status" -eq 0 ]
  stop analyzer
  faro 3 restore analyzer --config "$T/analyzer.yaml" --from "$T/copy"
  has "$stderr" "exists: a state is never overwritten"
  lose
  echo log >"$T/analyzer.db-wal" # of the lost database: it would undo the fence
  faro 3 restore analyzer --config "$T/analyzer.yaml" --from "$T/copy"
  has "$stderr" "analyzer.db-wal exists: it belongs to another database"
  rm "$T/analyzer.db-wal"
  faro 0 restore analyzer --config "$T/analyzer.yaml" --from "$T/copy"
  has "$output" "fenced"
  role_named analyzer analyzer "$T/analyzer.yaml"
  grep -q '"event":"fence-lifted"' "$T/analyzer.log" || health "200 OK"
  round 1 1
  [ "$status" -eq 0 ]
  version 3
  faro 0 ledger verify --url "$analyzer_url" --key "$T/analyzer.sign.public"
  has "$output" "Charged: 2 of the 3"
}

@test "backup: an old copy takes no batch, and says why" {
  slow_test
  running
  faro 0 backup analyzer --config "$T/analyzer.yaml" --out "$T/copy"
  round 1 0 && round 3 0
  version 3 # the copy does not have this batch, and the shuffler has forgotten it
  stop analyzer
  lose
  faro 0 restore analyzer --config "$T/analyzer.yaml" --from "$T/copy"
  role_named analyzer analyzer "$T/analyzer.yaml"
  health "fenced: the database is a restored copy"
  health "peer-differs"
  round 2 0 # its policy is older than the one that the client has seen
  run get "$analyzer_url" /v1/ledger
  has "$output" '"charged":1'
  not grep -q '"event":"fence-lifted"' "$T/analyzer.log"
}

@test "backup: --final moves a state, which goes on in one place only" {
  slow_test
  running
  round 3 0 # the open batch moves too
  faro 4 backup analyzer --config "$T/analyzer.yaml" --out "$T/moved" --final # it runs
  stop analyzer
  stop shuffler
  faro 0 backup analyzer --config "$T/analyzer.yaml" --out "$T/moved" --final
  faro 2 backup shuffler --config "$T/shuffler.yaml" --out "$T/state"
  has "$stderr" "--final is required for a shuffler"
  faro 0 backup shuffler --config "$T/shuffler.yaml" --out "$T/state" --final
  faro 3 analyzer --config "$T/analyzer.yaml"
  has "$stderr" "was moved to another place"
  faro 3 shuffler --config "$T/shuffler.yaml"
  has "$stderr" "was moved to another place"

  lose
  mv "$T/shuffler.db" "$T/lost"
  faro 3 restore shuffler --config "$T/shuffler.yaml" --from "$T/moved"
  has "$stderr" "is the state of another role"
  faro 0 restore analyzer --config "$T/analyzer.yaml" --from "$T/moved"
  faro 0 restore shuffler --config "$T/shuffler.yaml" --from "$T/state"
  sed "s|$T/analyzer.db|$T/second.db|" "$T/analyzer.yaml" >"$T/second.yaml"
  faro 3 restore analyzer --config "$T/second.yaml" --from "$T/moved"
  has "$stderr" "restored before"
  role_named analyzer analyzer "$T/analyzer.yaml"
  role_named shuffler shuffler "$T/shuffler.yaml"
  has "$(cat "$T/shuffler.log")" '"held":1'
  round 1 1
  [ "$status" -eq 0 ]
  version 3
}

@test "backup: an analyzer that collects reports itself moves with its intake, or not at all" {
  slow_test
  campaign
  sed -i '/^shufflers:/,$d; s/release: shuffle-bits/release: central-tree/; s/batch: 2/batch: 3/' "$T/analyzer.yaml"
  echo "tokens: $T/clients.hashes" >>"$T/analyzer.yaml"
  role_named analyzer analyzer "$T/analyzer.yaml"
  stop analyzer
  faro 0 backup analyzer --config "$T/analyzer.yaml" --out "$T/moved" --final
  lose
  mv "$T/moved.intake" "$T/lost/moved.intake"
  faro 3 restore analyzer --config "$T/analyzer.yaml" --from "$T/moved"
  has "$stderr" "moved.intake cannot be read"
  cp "$T/lost/moved.intake" "$T/moved.intake"
  printf x >>"$T/moved.intake"
  faro 3 restore analyzer --config "$T/analyzer.yaml" --from "$T/moved"
  has "$stderr" "moved.intake is not what its manifest describes"
  [ ! -e "$T/analyzer.db" ]
  mv "$T/lost/moved.intake" "$T/moved.intake"
  faro 0 restore analyzer --config "$T/analyzer.yaml" --from "$T/moved"
  role_named analyzer analyzer "$T/analyzer.yaml"
}
