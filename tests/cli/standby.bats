# A standby analyzer: it follows by itself, takes over, and nothing counts twice, with real processes.

load support
load service

setup() { faro_setup && declare -gA pids=(); }
teardown() { faro_teardown; }

# Settings of a first analyzer, its standby and a shuffler that knows both: pair [TAKE-OVER]
pair() {
  campaign
  "$FARO" keys tokens --count 1 --out "$T/operator"
  local first=$(free_port) public=$(free_port) admin=$(free_port)
  sed "s|^listen:.*|listen: 127.0.0.1:$public|; s|analyzer\.db|standby.db|" "$T/analyzer.yaml" >"$T/standby.yaml"
  printf 'admin-listen: 127.0.0.1:%s\nadmin-tokens: %s\n' "$admin" "$T/operator.hashes" >>"$T/standby.yaml"
  echo "standby: {follow: true${1:+, take-over: $1}}" >>"$T/standby.yaml"
  echo "standby: {url: 'http://127.0.0.1:$admin', token: $T/operator.tokens}" >>"$T/analyzer.yaml"
  printf 'admin-listen: 127.0.0.1:%s\nadmin-tokens: %s\npublic-status: true\n' "$first" "$T/operator.hashes" \
    >>"$T/analyzer.yaml"
  echo "standby: http://127.0.0.1:$public" >>"$T/shuffler.yaml"
  local i
  for i in 1 2 3; do echo "standby: http://127.0.0.1:$public" >>"$T/$i.yaml"; done
  standby_url="http://127.0.0.1:$public" admin_url="http://127.0.0.1:$admin"
}

# All three run.
running() {
  pair "$@"
  role_named standby analyzer "$T/standby.yaml"
  role_named first analyzer "$T/analyzer.yaml"
  role_named shuffler shuffler "$T/shuffler.yaml"
}

# Waits until a health check says the words: health URL WORDS
health() {
  local i
  for ((i = 0; i < 6000; i++)); do
    run get "$1" /healthz
    [[ $output == *"$2"* ]] && return 0
    sleep 0.02
  done
  echo "$output"
  return 1
}

# Ends a role without warning: lose NAME
lose() {
  kill -KILL "${pids[$1]}"
  wait "${pids[$1]}" || true
}

promote() { faro 0 campaign promote --url "$admin_url" --token "$T/operator.tokens"; }

@test "standby: it takes over what the first analyzer has acknowledged, and that one stays fenced" {
  slow_test
  running
  round 1 0.5 && round 2 1
  version 2
  round 3 0 # in the open batch
  health "$standby_url" "200 OK"
  run get "$standby_url" /readyz
  has "$output" "standby: this analyzer serves nobody"
  lose first
  promote
  has "$output" "campaign:  walk"
  round 1 1 # a client asks the standby when the first analyzer is gone
  [ "$status" -eq 0 ]
  version 3
  faro 0 ledger verify --url "$standby_url" --key "$T/analyzer.sign.public"
  has "$output" "Charged: 2 of the 3"
  [ ! -e "$T/standby.db.copy" ]

  role_named first analyzer "$T/analyzer.yaml"
  health "$url" "fenced: another analyzer has taken over in epoch 1"
  run get "$url" /v1/policy
  has "$output" "another analyzer has taken over this campaign"
  logged first replaced # it is on the disk
  stop first
  stop shuffler
  sed -i '/^standby:/d' "$T/analyzer.yaml" # nobody tells it: it remembers
  role_named first analyzer "$T/analyzer.yaml"
  health "$url" "fenced: another analyzer has taken over in epoch 1"
  grep -c '"event":"batch-applied"' "$T/standby.log" | grep -qx 1
}
