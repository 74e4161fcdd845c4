# faro client in campaigns in phases, where plans say what to play, and in rounds, where fits ask for a choice once more. The
# analyzer collects the reports itself.

load support
load service

setup() { faro_setup; }
teardown() { faro_teardown; }

# An analyzer, and clients 1 to 4: start CAMPAIGN
start() {
  "$FARO" keys sign --out "$T/analyzer.sign" && "$FARO" keys seal --out "$T/analyzer.seal"
  "$FARO" keys tokens --count 4 --out "$T/clients"
  local port=$(free_port) i
  printf '1 0\n0 1\n' >"$T/arms.txt"
  cat >"$T/analyzer.yaml" <<EOF
listen: 127.0.0.1:$port
url: http://127.0.0.1:$port
database: $T/analyzer.db
sign: $T/analyzer.sign.secret
seal: $T/analyzer.seal.secret
tokens: $T/clients.hashes
campaign: {id: walk, dimension: 2, arms: 2, release: central-bits, epsilon: 4, delta: 1e-3, $1}
EOF
  role analyzer analyzer "$T/analyzer.yaml"
  for i in 1 2 3 4; do
    (umask 077 && sed -n "${i}p" "$T/clients.tokens" >"$T/$i.token")
    cat >"$T/$i.yaml" <<EOF
analyzer: $url
key: $(key "$T/analyzer.sign.public")
token: $T/$i.token
state: $T/$i.state
epsilon: 4
delta: 1e-3
trust: joint
level: event
EOF
  done
}

# What client I says to these lines: client I LINE...
client() { run --separate-stderr "$FARO" client --config "$T/$1.yaml" < <(shift && (($# == 0)) || printf '%s\n' "$@"); }

@test "client: plays what the plan says, one reward after the other" {
  start "learner: pe, features: $T/arms.txt, level: event, batch: 2, largest: 2, horizon: 40"
  client 1 # nothing is read: it says what to play
  [ "$status" -eq 0 ]
  [ "$output" = "0 1" ]
  run "$FARO" client --config "$T/1.yaml" --show
  [[ "$output" == *"plan:      play arm 0; 1 reward is asked for"* ]]
  run --separate-stderr "$FARO" client --config "$T/1.yaml" --dry-run <<<0.9
  [ "$status" -eq 0 ]
  [ "$output" = $'0 1\n0 0' ]
  [ "$stderr" = "faro: would send 160 bytes to $url/v1/reports" ]
  client 1 - 0.9 0.9 # the second one is not asked for
  [ "$status" -eq 1 ]
  [ "$output" = $'0 1\n0 1\n0 0\n0 0' ]
  [ "$stderr" = "faro: line 3: plan 1 asks this client for no more rewards" ]
  run "$FARO" client --config "$T/1.yaml" --show
  [[ "$output" == *"looks best; no reward is asked for"* ]]
  [[ "$output" == *"so far:    1 delivered, 0 refused"* ]]
  client 2 0.7 # fills the batch: the next plan is there, or not yet
  [ "$status" -eq 0 ]
  version 2
  # How many batches there will be is not known, but how many reports at most.
  run "$FARO" ledger explain --url "$url"
  [[ "$output" == *"charged: 1 release, one for each batch of a phase; at most 40 reports in all are asked for"* ]]
  [[ "$output" == *" 2        2 of 40 "* ]]
  [[ "$output" != *16383* ]]
  run "$FARO" ledger verify --url "$url" --key "$T/analyzer.sign.public"
  [ "$status" -eq 0 ]
  [[ "$output" == *"Charged: 2 of at most 40 reports, in 1 release of phases."* ]]
  client 1
  [ "$output" = "1 1" ]
  client 3 "0 = 0.8" # of an earlier plan
  [ "$status" -eq 1 ]
  [ "$stderr" = "faro: line 1: plan 2 asks for no more rewards of arm 0: it may be of an earlier plan" ]
  client 3 "1 = 0.2"
  [ "$status" -eq 0 ]
  [ "${lines[0]}" = "1 1" ]
  client 3 "2 = 0.2"
  [ "$status" -eq 3 ]
  [ "$stderr" = 'faro: line 1: the arm must be from 0 to 1 (got "2")' ]
  client 2 much
  [ "$status" -eq 3 ]
  [ "$stderr" = 'faro: line 1: the reward must be a number or - (got "much")' ]
}

@test "client: what was played for a plan is kept, until the plan ends" {
  start "learner: dpe, clients: 4, features: $T/arms.txt, level: user, contributions: 1, batch: 2, horizon: 40"
  client 1
  [ "$output" = "0 1" ] # each arm once
  client 3 0.5
  [ "$output" = $'0 1\n1 1' ]
  # A device is killed after its first reward, which stays.
  coproc device { exec "$FARO" client --config "$T/1.yaml" 2>/dev/null 3>&-; }
  started+=("$device_PID")
  local pid=$device_PID line
  echo 0.8 >&"${device[1]}"
  read -r line <&"${device[0]}"
  read -r line <&"${device[0]}"
  [ "$line" = "1 1" ]
  kill -KILL "$pid"
  wait "$pid" || true
  client 1
  [ "$output" = "1 1" ]
  client 1 0.4
  [ "$status" -eq 0 ]
  [ "${lines[0]}" = "1 1" ]
  [ "${lines[1]:1}" = " 0" ] # reported: no more is asked for
  client 2 0.9 0.1
  [ "$status" -eq 0 ]
  for i in 1 2; do
    run "$FARO" client --config "$T/$i.yaml" --show
    [[ "$output" == *"so far:    1 delivered, 0 refused"* ]]
  done
  version 2
  run --separate-stderr "$FARO" client --config "$T/3.yaml" --flush
  [ "$status" -eq 1 ]
  [ "$stderr" = "faro: the plan has ended: what was played for it cannot count any more" ]
  run "$FARO" client --config "$T/3.yaml" --show
  [[ "$output" == *"plans:     1 ended before what was played for them could count"* ]]
  client 3 # the next plan, from its beginning
  [ "$status" -eq 0 ]
  [ -z "$stderr" ]
}

@test "client: a report that could not be delivered is the same one in the next run, or its plan has ended" {
  start "learner: pe, features: $T/arms.txt, level: event, batch: 2, largest: 2, horizon: 40"
  client 1
  # Nobody answers at the shuffler's address, which is the analyzer's here: it is away after the first answer.
  coproc device { exec "$FARO" client --config "$T/1.yaml" 2>"$T/1.err" 3>&-; }
  local pid=$device_PID line
  read -r line <&"${device[0]}"
  kill -KILL "${started[0]}"
  wait "${started[0]}" || true
  echo 0.9 >&"${device[1]}"
  eval "exec ${device[1]}>&-"
  ! wait "$pid"
  [[ "$(cat "$T/1.err")" == *"1 report waits in $T/1.state for the next run"* ]]
  role analyzer analyzer "$T/analyzer.yaml"
  client 2 0.5
  client 3 0.5
  version 2
  run --separate-stderr "$FARO" client --config "$T/1.yaml" --flush
  [ "$status" -eq 1 ]
  [ "$stderr" = "faro: the plan has ended: what was played for it cannot count any more" ]
  [ "$(kept "$T/1.state")" = "1 2" ] # one number was used
}

@test "client: keeps a choice for the fits of its term, and answers them" {
  start "learner: glm-batched, link: logistic, bound: 1, fits: 1, level: user, contributions: 4, horizon: 10"
  for i in 1 2; do
    client "$i" '1 0; 0 1' 1
    [ "$status" -eq 0 ]
  done
  version 2
  run "$FARO" client --config "$T/1.yaml" --show
  [[ "$output" == *"fits:      0 answered, 1 choice kept for more"* ]]
  for i in 1 2; do
    run --separate-stderr "$FARO" client --config "$T/$i.yaml" --flush
    [ "$status" -eq 0 ]
    [ -z "$stderr" ]
  done
  version 3 # no other reports were there
  run "$FARO" client --config "$T/2.yaml" --flush
  [ "$status" -eq 0 ]
  run "$FARO" client --config "$T/2.yaml" --show
  [[ "$output" == *"so far:    1 delivered, 0 refused"* ]]
  [[ "$output" == *"fits:      1 answered, 0 choices kept for more"* ]]
}
