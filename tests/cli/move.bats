# A campaign that moves: addresses change and keys are handed over in mid-campaign, with real processes. Clients go on,
# nothing is lost, and the budget stays.

load support
load service

setup() { faro_setup && declare -gA pids=(); }
teardown() { faro_teardown; }

# The line of a setting is replaced: set FILE KEY VALUE
set_line() { sed -i "s|^$2: .*|$2: $3|" "$T/$1"; }

@test "move: the analyzer's address" {
  slow_test
  campaign
  role_named analyzer analyzer "$T/analyzer.yaml"
  role_named shuffler shuffler "$T/shuffler.yaml"
  round 1 0.5
  [ "$status" -eq 0 ]
  local port=$(free_port) before=$analyzer_url

  # settings that differ are refused until the move is signed
  set_line analyzer.yaml url "http://127.0.0.1:$port"
  faro 4 move sign --config "$T/analyzer.yaml" # it runs
  has "$stderr" "another process has this state open"
  stop analyzer
  faro 3 analyzer --check-config --config "$T/analyzer.yaml"
  has "$stderr" "run \`faro move sign\` first"
  faro 3 move sign --config "$T/analyzer.yaml" --campaign walk
  has "$stderr" "has one campaign"
  faro 0 move sign --config "$T/analyzer.yaml" --dry-run
  has "$output" "address of the analyzer: $before -> http://127.0.0.1:$port"
  faro 3 analyzer --check-config --config "$T/analyzer.yaml"
  faro 0 move sign --config "$T/analyzer.yaml"
  faro 3 move sign --config "$T/analyzer.yaml"
  has "$stderr" "nothing to move"

  # announced at the old address, where the analyzer still is: who comes by learns the new one
  role_named analyzer analyzer "$T/analyzer.yaml"
  round 2 -
  [ "$status" -eq 0 ]
  [ -f "$T/2.state.move" ]
  local i
  for ((i = 0; i < 6000; i++)); do # the shuffler asks every few seconds
    [ -f "$T/shuffler.db.move" ] && break
    sleep 0.02
  done
  [ -f "$T/shuffler.db.move" ]
  stop analyzer

  # at the new address: those who have heard of it go on
  set_line analyzer.yaml listen "127.0.0.1:$port"
  role_named analyzer analyzer "$T/analyzer.yaml"
  round 2 1
  [ "$status" -eq 0 ]
  faro 0 client --analyzer "http://127.0.0.1:$port" --key "$T/analyzer.sign.public" --epsilon 4 --delta 1e-3 --honest 1 --show
  has "$output" "moved:     1"
  analyzer_url="http://127.0.0.1:$port"
  set_line 3.yaml analyzer "$analyzer_url"
  version 2 # the shuffler has found the new address too
  faro 0 ledger verify --url "$analyzer_url" --key "$T/analyzer.sign.public"
  has "$output" "Charged: 1 of the 3"

  # a client that does not follow moves, and one that missed the announcement
  printf 'fixed: true\n' >>"$T/2.yaml"
  round 2 0
  [ "$status" -eq 3 ]
  has "$stderr" "this client is fixed"
}

@test "move: a shuffler's address and key, with its consent only" {
  slow_test
  campaign
  role_named analyzer analyzer "$T/analyzer.yaml"
  role_named shuffler shuffler "$T/shuffler.yaml"
  local pin=$(sed -n 's|.*{url: "\([^"]*\)".*|\1|p' "$T/analyzer.yaml")
  for i in 1 2 3; do
    printf 'shufflers:\n  - {key: %s, url: "%s"}\n' "$(key "$T/shuffler-0.sign.public")" "$pin" >>"$T/$i.yaml"
  done
  round 1 0.5 # it is in the open batch
  [ "$status" -eq 0 ]
  local port=$(free_port)
  "$FARO" keys sign --out "$T/next.sign" >/dev/null
  faro 0 move consent --config "$T/shuffler.yaml" --url "http://127.0.0.1:$port" --new-key "$T/next.sign.public"
  local row=$output

  # without consent, and with that of somebody else
  stop analyzer
  cp "$T/analyzer.yaml" "$T/before.yaml"
  sed -i '/^shufflers:/,$d' "$T/analyzer.yaml"
  local without=$(sed 's/,$/}/; /consent/d' <<<"$row")
  printf 'shufflers:\n%s\n' "$without" >>"$T/analyzer.yaml"
  faro 3 move sign --config "$T/analyzer.yaml"
  has "$stderr" "shufflers[0].consent is required"
  sed -i '/^shufflers:/,$d' "$T/analyzer.yaml"
  printf 'shufflers:\n%s\n' "${row/consent: ??/consent: 00}" >>"$T/analyzer.yaml"
  faro 3 move sign --config "$T/analyzer.yaml"
  has "$stderr" "shufflers[0].consent is not that of shuffler 0"
  sed -i '/^shufflers:/,$d' "$T/analyzer.yaml"
  printf 'shufflers:\n%s\n' "$row" >>"$T/analyzer.yaml"
  faro 0 move sign --config "$T/analyzer.yaml"
  has "$output" "address of shuffler 0: "
  has "$output" "key of shuffler 0: "
  role_named analyzer analyzer "$T/analyzer.yaml"

  # with the old key it is no part of the campaign any more; with the new one it goes on where it was
  stop shuffler
  faro 3 shuffler --config "$T/shuffler.yaml"
  has "$stderr" "no shuffler of campaign walk has this key"
  set_line shuffler.yaml key "$T/next.sign.secret"
  set_line shuffler.yaml listen "127.0.0.1:$port"
  role_named shuffler shuffler "$T/shuffler.yaml"
  has "$(cat "$T/shuffler.log")" '"held":1'
  round 2 1 # it has pinned the old key, which has consented
  [ "$status" -eq 0 ]
  faro 0 client --config "$T/2.yaml" --show
  has "$output" "pin it as it was founded: $pin, key"
  version 2
  round 1 0 && round 3 0
  [ "$status" -eq 0 ]
  version 3
  round 1 0 # two reports, one of them before
  [ "$status" -eq 1 ]
  has "$stderr" "as many reports as the campaign allows"
}

@test "move: the signing key, handed over by both" {
  slow_test
  campaign
  role_named analyzer analyzer "$T/analyzer.yaml"
  role_named shuffler shuffler "$T/shuffler.yaml"
  round 1 0.5 && round 2 1
  version 2
  faro 0 ledger verify --url "$analyzer_url" --key "$T/analyzer.sign.public" --since "$T/head"
  local tag=$(get "$analyzer_url" /v1/policy | sed -n 's/^ETag: \(.*\)\r$/\1/p')
  has "$(get "$analyzer_url" /v1/policy "If-None-Match: $tag" | head -1)" " 304 "
  stop analyzer
  "$FARO" keys sign --out "$T/next.sign" >/dev/null
  set_line analyzer.yaml sign "$T/next.sign.secret"
  faro 3 move sign --config "$T/analyzer.yaml"
  has "$stderr" "--old-key FILE is required"
  faro 3 move sign --config "$T/analyzer.yaml" --old-key "$T/shuffler-0.sign.secret"
  has "$stderr" "the old signing key must be the one that signs now"
  faro 0 move sign --config "$T/analyzer.yaml" --old-key "$T/analyzer.sign.secret"
  has "$output" "signing key: "
  role_named analyzer analyzer "$T/analyzer.yaml"
  # the same version, signed anew: a cache must not go on with the old signature
  has "$(get "$analyzer_url" /v1/policy "If-None-Match: $tag" | head -1)" " 200 "
  round 1 0 # pins the old key
  [ "$status" -eq 0 ]
  sed -i "s/^key: .*/key: $(key "$T/next.sign.public")/" "$T/3.yaml" # a new installation pins the new one
  round 3 0
  [ "$status" -eq 0 ]
  version 3
  local pinned
  for pinned in analyzer next; do
    faro 0 ledger verify --url "$analyzer_url" --key "$T/$pinned.sign.public" --since "$T/head"
    has "$output" "2 rows"
  done
  faro 0 ledger verify --database "$T/analyzer.db" --key "$T/analyzer.sign.public"
  stop shuffler
  role_named shuffler shuffler "$T/shuffler.yaml" # pins the old key, too
}

@test "move: the sealing key, while reports are on their way" {
  slow_test
  campaign
  sed -i '/^shufflers:/,$d; s/release: shuffle-bits/release: central-tree/; s/batch: 2/batch: 3/' "$T/analyzer.yaml"
  echo "tokens: $T/clients.hashes" >>"$T/analyzer.yaml"
  for i in 1 2 3; do echo "trust: joint" >>"$T/$i.yaml"; done
  role_named analyzer analyzer "$T/analyzer.yaml"
  round 1 0.5 # sealed to the old key, and waits in the open batch
  [ "$status" -eq 0 ]
  stop analyzer
  "$FARO" keys seal --out "$T/next.seal" >/dev/null
  set_line analyzer.yaml seal "$T/next.seal.secret"
  faro 3 move sign --config "$T/analyzer.yaml"
  has "$stderr" "seal-before must be the file of the secret key before it"
  echo "seal-before: $T/analyzer.seal.secret" >>"$T/analyzer.yaml"
  faro 0 move sign --config "$T/analyzer.yaml"
  has "$output" "sealing key: "
  role_named analyzer analyzer "$T/analyzer.yaml"
  round 2 0.5
  round 3 0.5 # both sealed to the new one
  [ "$status" -eq 0 ]
  version 2
  run get "$analyzer_url" /metrics
  has "$output" "faro_analyzer_reports_total 3"
  has "$output" "faro_analyzer_spoiled_total 0"
}

@test "move: that of another campaign is not kept" {
  slow_test
  campaign
  role_named analyzer analyzer "$T/analyzer.yaml"
  role_named shuffler shuffler "$T/shuffler.yaml"
  stop shuffler
  stop analyzer

  # another campaign under the same key and at the same address, which moves
  mkdir "$T/first"
  mv "$T"/analyzer.db* "$T/first"
  cp "$T/analyzer.yaml" "$T/first.yaml"
  sed -i 's/id: walk/id: other/' "$T/analyzer.yaml"
  role_named analyzer analyzer "$T/analyzer.yaml"
  stop analyzer
  set_line analyzer.yaml url "http://127.0.0.1:$(free_port)"
  faro 0 move sign --config "$T/analyzer.yaml"
  role_named analyzer analyzer "$T/analyzer.yaml"
  faro 3 shuffler --config "$T/shuffler.yaml"
  has "$stderr" "the move does not belong to campaign walk"
  [ ! -e "$T/shuffler.db.move" ]
  stop analyzer

  # the first one is back
  rm "$T"/analyzer.db*
  mv "$T"/first/* "$T"
  role_named analyzer analyzer "$T/first.yaml"
  role_named shuffler shuffler "$T/shuffler.yaml"
}
