# Many campaigns in one analyzer: addresses, failures, the admin port.

load support
load service

setup() { faro_setup; }
teardown() { faro_teardown; }

# Keys, an operator's token, and the settings of an analyzer with a folder of campaigns: host
host() {
  "$FARO" keys sign --out "$T/sign" && "$FARO" keys seal --out "$T/seal"
  "$FARO" keys tokens --count 3 --out "$T/clients" && "$FARO" keys tokens --count 1 --out "$T/admin"
  mkdir "$T/campaigns"
  port=$(free_port) admin_port=$(free_port)
  public="http://127.0.0.1:$port" admin="http://127.0.0.1:$admin_port"
  cat >"$T/host.yaml" <<EOF
listen: 127.0.0.1:$port
url: $public
campaigns: $T/campaigns
admin-listen: 127.0.0.1:$admin_port
admin-tokens: $T/admin.hashes
EOF
  local i
  for i in 1 2 3; do (umask 077 && sed -n "${i}p" "$T/clients.tokens" >"$T/$i.token"); done
}

# A campaign whose clients report to the analyzer itself: direct NAME RELEASE [MORE]
direct() {
  cat >"$T/campaigns/$1.yaml" <<EOF
database: $T/$1.db
sign: $T/sign.secret
seal: $T/seal.secret
tokens: $T/clients.hashes
campaign: {id: $1, dimension: 2, arms: 3, release: $2, epsilon: 4, delta: 1e-3, level: user,
  contributions: 2, honest: 1, batch: 2, horizon: ${3:-4}}
EOF
}

# faro campaign, at the admin port: operate STATUS ACTION [NAME]
operate() { faro "$1" campaign "${@:2}" --url "$admin" --token "$T/admin.tokens"; }

# A round of client I in a campaign: report NAME I REWARD
report() {
  run --separate-stderr "$FARO" client --analyzer "$public/$1" --key "$T/sign.public" --token "$T/$2.token" \
    --state "$T/$1-$2.state" --epsilon 4 --delta 1e-3 --trust joint --honest 1 <<<"$(printf '1 0; 0 1\n%s\n' "$3")"
  [ "$status" -eq 0 ] || {
    echo "$stderr"
    return 1
  }
}

# Waits until the answer has the words: answers URL PATH WORDS
answers() {
  local i
  for ((i = 0; i < 12000; i++)); do
    [[ $(get "$1" "$2") == *"$3"* ]] && return 0
    sleep 0.02
  done
  get "$1" "$2"
  return 1
}

@test "campaigns: two of them behind one port, and one that is damaged takes no other down" {
  check_test
  host
  direct first local
  direct second central-bits
  faro 0 analyzer --check-config --config "$T/host.yaml"
  has "$output" "campaign first: posterior behind local-"
  has "$output" "campaign second: posterior behind central-bits"
  role analyzer analyzer "$T/host.yaml"
  has "$(get "$public" /first/v1/campaign)" " 404 " # a draft
  gone "$T/first.db"
  operate 0 show first
  has "$output" "state:     draft"
  has "$output" "claim:     (4, 0.001), trust local, level user"
  operate 0 open first
  has "$output" "state:     open"
  has "$output" "address:   $public/first"
  operate 0 open second
  report first 1 0.5
  report second 1 0.5
  report first 2 0.5
  answers "$admin" "/healthz" "ok"
  version_of() { "$FARO" ledger explain --url "$public/$1" | grep -c "^ *0 "; }
  local i
  for ((i = 0; i < 12000; i++)); do [ "$(version_of first)" = 1 ] && break; sleep 0.02; done
  [ "$(version_of first)" = 1 ] && [ "$(version_of second)" = 0 ] # a batch of one is none of the other
  has "$(get "$public" /first/v1/campaign | head -1)" " 200 "
  has "$(get "$public" /third/v1/campaign | head -1)" " 404 "
  has "$(get "$public" /first/healthz)" "ok"
  kill -TERM "${started[0]}" && wait "${started[0]}"
  started=()

  cp "$T/second.db" "$T/kept"
  printf 'damaged' | dd of="$T/second.db" conv=notrunc status=none
  role analyzer analyzer "$T/host.yaml"
  has "$(cat "$T/analyzer.log")" '"event":"campaign-not-started","campaign":"second"'
  report first 1 0.5
  has "$(get "$public" /second/v1/policy | head -1)" " 503 "
  has "$(get "$public" /second/healthz)" " 503 "
  has "$(get "$public" /first/healthz)" " 200 "
  local health=$(get "$public" /healthz)
  has "$health" " 503 "
  has "$health" "campaign second: the campaign could not be started"
  has "$(get "$public" /readyz | head -1)" " 200 " # the first one serves
  operate 0 list
  has "$output" "first                    open       well     1 of 2"
  has "$output" "second                   failed     unwell"
  cp "$T/kept" "$T/second.db"
  answers "$public" /healthz "ok"
  report second 2 0.5
}

@test "campaigns: names that cannot be served, and files that cannot be read" {
  host
  direct healthz local
  faro 3 analyzer --config "$T/host.yaml"
  has "$stderr" "a campaign must not be named healthz"
  mv "$T/campaigns/healthz.yaml" "$T/campaigns/Upper.yaml"
  faro 3 analyzer --check-config --config "$T/host.yaml"
  has "$stderr" "the name of a campaign must be 1 .. 63 lower-case letters, digits, or -"
  rm "$T/campaigns/Upper.yaml"
  (cat "$T/host.yaml" && echo "standby: {follow: true}") >"$T/standby.yaml"
  faro 3 analyzer --check-config --config "$T/standby.yaml"
  has "$stderr" "standby is for an analyzer with one campaign, not for a folder of campaigns"
  direct one local
  echo "listen: 127.0.0.1:1" >>"$T/campaigns/one.yaml"
  faro 3 analyzer --check-config --config "$T/host.yaml"
  has "$stderr" "one.yaml:7: unknown key \"listen\""
  role analyzer analyzer "$T/host.yaml" # a file that cannot be read is no reason not to start
  operate 0 show one
  has "$output" "state:     failed, not well"
  has "$output" "unknown key \"listen\""
  direct one local
  operate 0 create one
  has "$output" "state:     draft"
  operate 3 create two
  has "$stderr" "campaign two has no settings: put them into $T/campaigns/two.yaml on the analyzer's machine"
  direct two local
  operate 0 create two
  operate 0 open two
  operate 3 create two
  has "$stderr" "campaign two is there already"
  faro 2 analyzer --config "$T/host.yaml" --found
}

@test "campaigns: batches that no number of clients fills are named" {
  host
  direct one shuffle-bits
  "$FARO" keys sign --out "$T/shuffler"
  sed -i "/^tokens/d; s/batch: 2, horizon: 4/batch: 2000000000, horizon: 4000000000/
    \$ a shufflers: [{url: 'http://127.0.0.1:1', key: $(key "$T/shuffler.public")}]" "$T/campaigns/one.yaml"
  faro 0 analyzer --check-config --config "$T/host.yaml"
  has "$output" "warning: a batch of 2000000000 reports needs as many clients"
  role analyzer analyzer "$T/host.yaml"
  operate 0 show one
  has "$output" "warning:   a batch of 2000000000 reports needs as many clients"
  operate 0 open one
  has "$(cat "$T/analyzer.log")" '"campaign":"one","event":"campaign-is-large"'
  sed "s/2000000000/20000000000/; s/4000000000/40000000000/" "$T/campaigns/one.yaml" >"$T/campaigns/two.yaml"
  operate 3 create two
  has "$stderr" "campaign.batch must be a whole number from 1 to 10000000000 (got 20000000000)"
  sed "s/2000000000/2000000/; s/one.db/three.db/" "$T/campaigns/one.yaml" >"$T/campaigns/three.yaml"
  operate 0 create three
  has "$output" "warning:   the horizon has 4000000000 reports"
  direct four local
  operate 0 create four
  [[ $output != *warning* ]]
}

@test "admin: tokens, and what the public port does not have" {
  host
  direct one local
  role analyzer analyzer "$T/host.yaml"
  operate 0 open one
  local token=$(cat "$T/admin.tokens") path
  for path in / /metrics /v1/campaigns /one/ /one/v1/status.json /one/v1/life; do
    local plain=$(get "$admin" "$path")
    has "$plain" " 401 "
    has "$plain" 'WWW-Authenticate: Basic realm="faro"'
    has "$(get "$admin" "$path" "Authorization: Bearer $(tr 0-9a-f 1-9a-f0 <<<"$token")" | head -1)" " 401 "
    has "$(get "$admin" "$path" "Authorization: Bearer ${token%?}" | head -1)" " 401 "
    has "$(get "$admin" "$path" "Authorization: Basic $(printf 'me:%s' "${token%?}" | base64 -w0)" | head -1)" " 401 "
    has "$(get "$admin" "$path" "Authorization: Bearer $token" | head -1)" " 200 "
    has "$(get "$admin" "$path" "Authorization: Basic $(printf 'me:%s' "$token" | base64 -w0)" | head -1)" " 200 "
    has "$(get "$public" "$path" "Authorization: Bearer $token" | head -1)" " 404 "
  done
  has "$(get "$admin" /healthz | head -1)" " 200 "
  has "$(get "$admin" /nothing | head -1)" " 401 " # nothing is said about paths
  # A browser sends a password that it knows wherever a page of others wants it to.
  has "$(ask POST "$admin" "/v1/campaigns?name=x" "Content-Length: 0"$'\r\n'"Authorization: Basic $(printf 'me:%s' "$token" | base64 -w0)" | head -1)" " 401 "
  has "$(ask POST "$admin" "/v1/campaigns?name=x" "Content-Length: 0"$'\r\n'"Authorization: Bearer $token" | head -1)" " 409 "
  has "$(get "$admin" /metrics "Authorization: Bearer $token")" 'faro_campaign_healthy{campaign="one"} 1'
  has "$(get "$admin" /metrics "Authorization: Bearer $token")" 'faro_analyzer_policy_version{campaign="one"} 1'
  faro 3 campaign list --url "$admin" --token "$T/1.token"
  has "$stderr" "an operator's token is required"
  faro 3 campaign list --url http://analyzer.example.org:1 --token "$T/admin.tokens"
  has "$stderr" "--url must begin with https://"
}

@test "admin: SIGHUP makes it read the operators' tokens again" {
  host
  direct one local
  role analyzer analyzer "$T/host.yaml"
  local old=$(cat "$T/admin.tokens") new
  "$FARO" keys tokens --count 1 --out "$T/next"
  new=$(cat "$T/next.tokens")
  cp "$T/next.hashes" "$T/admin.hashes"
  has "$(get "$admin" /v1/campaigns "Authorization: Bearer $new" | head -1)" " 401 " # not yet
  kill -HUP "${started[-1]}"
  logged analyzer admin-tokens-reloaded
  has "$(get "$admin" /v1/campaigns "Authorization: Bearer $new" | head -1)" " 200 "
  has "$(get "$admin" /v1/campaigns "Authorization: Bearer $old" | head -1)" " 401 "
  echo broken >"$T/admin.hashes"
  kill -HUP "${started[-1]}"
  logged analyzer admin-tokens-not-reloaded
  has "$(get "$admin" /v1/campaigns "Authorization: Bearer $new" | head -1)" " 200 "
}

# Of several operators who want the same at the same time, one gets it, and the others hear what the state is by then.
@test "life: changes come one after another, and one that cannot be written is not made later" {
  check_test
  host
  direct one local
  role analyzer analyzer "$T/host.yaml"
  operate 0 open one
  local verb i pids=() made
  for verb in pause resume finish; do
    pids=() made=0
    for i in 1 2 3 4 5 6; do
      "$FARO" campaign $verb one --url "$admin" --token "$T/admin.tokens" >"$T/$i.out" 2>&1 3>&- &
      pids+=("$!")
      started+=("$!")
    done
    for i in 1 2 3 4 5 6; do
      if wait "${pids[i - 1]}"; then made=$((made + 1)); else grep -q "possible: " "$T/$i.out"; fi
    done
    [ "$made" -eq 1 ]
    [ "$verb" != resume ] || { # the database belongs to another process for now
      python3 -c 'import sqlite3, sys, time
c = sqlite3.connect(sys.argv[1], timeout=60, isolation_level=None)
c.execute("BEGIN IMMEDIATE")
print("held", flush=True)
time.sleep(3000)' "$T/one.db" >"$T/held" 3>&- &
      local holder=$!
      started+=("$holder")
      for ((i = 0; i < 12000; i++)); do grep -q held "$T/held" && break; sleep 0.02; done
      faro 4 campaign pause one --url "$admin" --token "$T/admin.tokens"
      kill -KILL "$holder"
      wait "$holder" || true
      operate 0 show one
      has "$output" "state:     open"
    }
  done
  operate 0 show one
  has "$output" "state:     finished"
}

@test "admin: an analyzer with one campaign, and a shuffler" {
  slow_test
  campaign
  "$FARO" keys tokens --count 1 --out "$T/admin"
  local place=$(free_port)
  admin="http://127.0.0.1:$place"
  sed -i "1i admin-listen: 127.0.0.1:$place" "$T/analyzer.yaml"
  faro 3 analyzer --check-config --config "$T/analyzer.yaml"
  has "$stderr" "admin-listen and admin-tokens must be given together"
  sed -i "1i admin-tokens: $T/admin.hashes" "$T/analyzer.yaml"
  role analyzer analyzer "$T/analyzer.yaml"
  operate 0 list
  has "$output" "walk                     open"
  operate 3 create one
  has "$stderr" "this analyzer has one campaign"
  has "$(get "$analyzer_url" /v1/status.json | head -1)" " 404 "
  has "$(get "$analyzer_url" /metrics | head -1)" " 404 "
  has "$(get "$analyzer_url" /healthz | head -1)" " 200 "
  has "$(get "$admin" /v1/status.json "Authorization: Bearer $(cat "$T/admin.tokens")" | head -1)" " 200 "
  has "$(get "$admin" /metrics "Authorization: Bearer $(cat "$T/admin.tokens")")" "faro_http_answers_total"
  place=$(free_port)
  printf 'admin-listen: 127.0.0.1:%s\nadmin-tokens: %s\n' "$place" "$T/admin.hashes" >>"$T/shuffler.yaml"
  role shuffler shuffler "$T/shuffler.yaml"
  has "$(get "$url" /metrics | head -1)" " 404 "
  has "$(get "http://127.0.0.1:$place" /metrics | head -1)" " 401 "
  has "$(get "http://127.0.0.1:$place" /metrics "Authorization: Bearer $(cat "$T/admin.tokens")")" "faro_batches_sent_total"
}

@test "admin: beyond loopback the public port shows the status only if it is told to" {
  campaign
  sed -i "s/^listen: 127.0.0.1/listen: 0.0.0.0/; 1i insecure: true" "$T/analyzer.yaml"
  role analyzer analyzer "$T/analyzer.yaml"
  local path
  for path in / /v1/status.json /metrics; do has "$(get "$analyzer_url" "$path" | head -1)" " 404 "; done
  has "$(get "$analyzer_url" /v1/policy | head -1)" " 200 "
  kill -TERM "${started[0]}" && wait "${started[0]}"
  started=()
  sed -i "1i public-status: true" "$T/analyzer.yaml"
  role analyzer analyzer "$T/analyzer.yaml"
  for path in / /v1/status.json /metrics; do has "$(get "$analyzer_url" "$path" | head -1)" " 200 "; done
}

# What a campaign refuses in its state, with the words: refuses STATE VERB ALLOWED
refuses() {
  operate 3 "$2" one
  has "$stderr" "the campaign is $1, so $2 is not possible; possible: $3"
}

@test "life: draft, open, paused, open, finished, archived, and nothing else" {
  slow_test
  host
  direct one local 6
  role analyzer analyzer "$T/host.yaml"
  refuses draft pause "open"
  operate 0 open one
  refuses open archive "pause, finish"
  report one 1 0.5
  operate 0 pause one
  has "$output" "state:     paused"
  refuses paused open "resume, finish"
  has "$(get "$public" /one/v1/campaign | head -1)" " 200 "
  has "$(get "$public" /one/v1/policy | head -1)" " 200 "
  has "$(ask POST "$public" /one/v1/reports "Content-Length: 0")" "Retry-After: 30"
  kill -KILL "${started[0]}" && wait "${started[0]}" || true
  started=()
  role analyzer analyzer "$T/host.yaml" # it is still paused
  operate 0 list
  has "$output" "one                      paused     well     0 of 3"
  operate 0 resume one
  report one 2 0.5 # the report before the pause is there
  answers "$public" /one/v1/policy '"version":2'
  operate 0 finish one
  refuses finished resume "archive"
  not report one 3 0.5
  has "$stderr" "refused: no reports are collected now"
  has "$(ask POST "$public" /one/v1/reports "Content-Length: 0" | head -1)" " 410 "
  has "$(get "$admin" /one/v1/status.json "Authorization: Bearer $(cat "$T/admin.tokens")")" '"state":"ended"'
  operate 0 archive one
  refuses archived open "nothing"
  kill -TERM "${started[0]}" && wait "${started[0]}"
  started=()
  rm "$T/one.db.intake" # nobody needs it any more
  local before=$(sha256sum <"$T/one.db")
  role analyzer analyzer "$T/host.yaml"
  operate 0 show one
  has "$output" "state:     archived"
  has "$(get "$public" /one/v1/campaign | head -1)" " 200 "
  has "$(get "$public" /one/v1/policy)" '"version":2'
  has "$(ask POST "$public" /one/v1/reports "Content-Length: 0" | head -1)" " 410 "
  has "$(get "$public" /healthz | head -1)" " 200 "
  faro 0 ledger verify --url "$public/one" --key "$T/sign.public"
  local life=$(get "$public" /one/v1/ledger | grep -o '"life":\[[^]]*\]' | grep -o '"state":"[a-z]*"' | tr '\n' ' ')
  [ "$life" = '"state":"open" "state":"paused" "state":"open" "state":"finished" "state":"archived" ' ]
  [ "$before" = "$(sha256sum <"$T/one.db")" ]
  [ "$(grep -c '"event":"campaign-is"' "$T/analyzer.log")" = 0 ]
}

@test "life: the log says who did it, and who was refused" {
  host
  direct one local
  role analyzer analyzer "$T/host.yaml"
  operate 0 open one
  operate 0 pause one
  local who=$(grep -oE '[0-9a-f]{32}' "$T/admin.hashes" | head -c 8) i
  has "$(cat "$T/analyzer.log")" "\"event\":\"draft-opened\",\"name\":\"one\",\"by\":\"$who\""
  has "$(cat "$T/analyzer.log")" "\"state\":\"paused\",\"id\":\"one\",\"by\":\"$who\""
  has "$(get "$admin" /v1/campaigns | head -1)" " 401 " # as a browser before it asks for a password: no line
  not grep -q '"operator-refused"' "$T/analyzer.log"
  for i in 1 2 3; do
    has "$(ask POST "$admin" "/one/v1/life?do=finish" "Authorization: Bearer $(cat "$T/1.token")" | head -1)" " 401 "
  done
  local line=$(grep '"operator-refused"' "$T/analyzer.log" | head -1)
  has "$line" '"level":"warning"'
  has "$line" '"address":"127.0.0.1"'
  not grep -q "$(cat "$T/1.token")" "$T/analyzer.log"
  has "$(get "$admin" /metrics "Authorization: Bearer $(cat "$T/admin.tokens")")" "faro_admin_refused_total 4"
}

@test "life: a used-up budget finishes a campaign" {
  host
  direct one local 2
  role analyzer analyzer "$T/host.yaml"
  operate 0 open one
  report one 1 0.5
  report one 2 0.5
  local i
  for ((i = 0; i < 12000; i++)); do
    operate 0 show one
    [[ $output == *"state:     finished"* ]] && break
    sleep 0.02
  done
  has "$output" "batches:   1 of 1"
  logged analyzer 'campaign-is","state":"finished' # told after it is so
  has "$(cat "$T/analyzer.log")" '"campaign":"one","event":"campaign-is","state":"finished"'
  operate 0 archive one
}

@test "life: a shuffler waits while its campaign is paused, and ends with it" {
  slow_test
  campaign
  "$FARO" keys tokens --count 1 --out "$T/admin"
  local place=$(free_port)
  admin="http://127.0.0.1:$place"
  sed -i "1i admin-listen: 127.0.0.1:$place\nadmin-tokens: $T/admin.hashes" "$T/analyzer.yaml"
  role analyzer analyzer "$T/analyzer.yaml"
  role shuffler shuffler "$T/shuffler.yaml"
  local shuffler=$url
  operate 0 pause
  round 1 0.5 && round 2 0.5 # the shuffler takes them; the analyzer does not take the batch
  local i
  for ((i = 0; i < 12000; i++)); do grep -q '"event":"batch-refused".*paused' "$T/shuffler.log" && break; sleep 0.02; done
  grep -q '"event":"batch-refused".*paused' "$T/shuffler.log"
  has "$(get "$analyzer_url" /v1/policy)" '"version":1'
  operate 0 resume
  version 2
  operate 0 pause
  round 3 0.5 && round 1 0.5
  [ "$status" -eq 0 ]
  operate 0 finish
  for ((i = 0; i < 12000; i++)); do
    ask POST "$shuffler" /v1/reports "Content-Length: 0" | head -1 | grep -q " 410 " && break
    sleep 0.02
  done
  has "$(ask POST "$shuffler" /v1/reports "Content-Length: 0" | head -1)" " 410 "
  # nobody has signed that it has ended: the batch that is left is kept
  for ((i = 0; i < 12000; i++)); do get "$shuffler" /healthz | grep -q "^batches-left: " && break; sleep 0.02; done
  has "$(get "$shuffler" /healthz)" "batches-left: the analyzer says that the campaign has ended"
  kill -TERM "${started[-1]}" && wait "${started[-1]}"
  role shuffler shuffler "$T/shuffler.yaml"
  has "$(grep '"event":"ready"' "$T/shuffler.log")" '"waiting":1'
}

@test "successor: counts what was spent before, and clients move to it" {
  host
  direct one central-bits 2
  role analyzer analyzer "$T/host.yaml"
  operate 0 open one
  direct two central-bits 2
  printf 'after:\n  - database: %s\n' "$T/one.db" >>"$T/campaigns/two.yaml"
  operate 3 create two
  has "$stderr" "campaign one in $T/one.db is open; it must be finished before another one on the same people begins"
  report one 1 0.5
  operate 0 finish one
  operate 0 create two
  operate 0 open two
  operate 0 show two
  has "$output" "in all:    (8, 0.002), with 1 earlier campaign on the same people"
  cp "$T/one-1.state" "$T/two-1.state"
  not report two 1 0.5 # the client accepts (4, 0.001), and both together are more
  has "$stderr" "epsilon of the campaign with those before it is 8, and this client accepts at most 4"
  local join=("$FARO" client --analyzer "$public/two" --key "$T/sign.public" --token "$T/1.token"
    --epsilon 8.01 --delta 2.01e-3 --trust joint)
  run --separate-stderr "${join[@]}" --state "$T/two-1.state" <<<"$(printf '1 0; 0 1\n0.5\n')"
  [ "$status" -eq 0 ]
  faro 3 client --analyzer "$public/one" --key "$T/sign.public" --token "$T/1.token" --state "$T/two-1.state" \
    --epsilon 8.01 --delta 2.01e-3 --trust joint --show # there is no way back
  direct three central-bits 2
  printf 'after:\n  - database: %s\n' "$T/two.db" >>"$T/campaigns/three.yaml"
  operate 0 finish two
  operate 0 create three
  has "$output" "in all:    (12, 0.003), with 2 earlier campaigns on the same people" # with those before it
}

@test "successor: a client whose campaign was handed over to another key follows, and stays" {
  slow_test
  host
  direct one central-bits 2
  role analyzer analyzer "$T/host.yaml"
  operate 0 open one
  "$FARO" keys sign --out "$T/next" >/dev/null
  kill -TERM "${started[0]}" && wait "${started[0]}"
  started=()
  sed -i "s|^sign: .*|sign: $T/next.secret|" "$T/campaigns/one.yaml"
  faro 0 move sign --config "$T/host.yaml" --campaign one --old-key "$T/sign.secret"
  role analyzer analyzer "$T/host.yaml"
  report one 1 0.5
  [ -e "$T/one-1.state.move" ]
  operate 0 finish one
  direct two central-bits 6
  printf 'after:\n  - database: %s\n' "$T/one.db" >>"$T/campaigns/two.yaml"
  direct three central-bits 6
  printf 'after:\n  - database: %s\n' "$T/one.db" >>"$T/campaigns/three.yaml"
  sed -i "s|^sign: .*|sign: $T/next.secret|" "$T/campaigns/two.yaml" # the third is signed by the old key
  local name
  for name in two three; do operate 0 create $name && operate 0 open $name; done
  go() {
    run --separate-stderr "$FARO" client --analyzer "$public/$1" --key "$T/sign.public" --token "$T/1.token" \
      --state "$T/one-1.state" --epsilon 8.01 --delta 2.01e-3 --trust joint <<<"$(printf '1 0; 0 1\n0.5\n')"
  }
  go three # from a thief of the key that was handed over
  [ "$status" -eq 3 ]
  has "$stderr" "signature"
  go two
  [ "$status" -eq 0 ]
  go two # the move is of the campaign before
  [ "$status" -eq 0 ]
  gone "$T/one-1.state.move"
  go three
  [ "$status" -eq 3 ]
}

@test "campaigns: pages of allowed origins may ask for what clients need, and nothing else" {
  host
  direct first local
  echo "origins: https://shop.example https://news.example:444" >>"$T/host.yaml"
  role analyzer analyzer "$T/host.yaml"
  operate 0 open first
  local page="Origin: https://shop.example" path
  for path in campaign policy; do
    has "$(get "$public" "/first/v1/$path" "$page")" "Access-Control-Allow-Origin: https://shop.example"
    has "$(get "$public" "/first/v1/$path" "$page")" "Vary: Origin"
    not has "$(get "$public" "/first/v1/$path" "Origin: https://other.example")" "Access-Control"
  done
  has "$(ask OPTIONS "$public" /first/v1/reports "$page")" "Access-Control-Allow-Methods: POST"
  for path in ledger state batches; do not has "$(get "$public" "/first/v1/$path" "$page")" "Access-Control"; done
  local token=$'\r\n'"Authorization: Bearer $(cat "$T/admin.tokens")"
  has "$(get "$admin" /first/v1/campaign "$page$token")" " 200 "
  not has "$(get "$admin" /first/v1/campaign "$page$token")" "Access-Control"
  not has "$(ask OPTIONS "$admin" /v1/campaigns "$page$token")" "Access-Control"
  echo "origins: shop.example" >"$T/bad.yaml"
  grep -v ^origins "$T/host.yaml" >>"$T/bad.yaml"
  faro 3 analyzer --check-config --config "$T/bad.yaml"
  has "$stderr" 'bad.yaml: origins must be "*" or origins of pages like https://shop.example.org'
  has "$stderr" "(got shop.example)"
}

@test "shuffler: pages of allowed origins may report" {
  campaign
  echo 'origins: "*"' | tee -a "$T/analyzer.yaml" >>"$T/shuffler.yaml"
  role analyzer analyzer "$T/analyzer.yaml"
  role shuffler shuffler "$T/shuffler.yaml"
  has "$(ask OPTIONS "$url" /v1/reports "Origin: https://shop.example")" "Access-Control-Allow-Methods: POST"
  has "$(ask OPTIONS "$url" /v1/reports "Origin: https://shop.example")" "Access-Control-Allow-Origin: *"
  has "$(ask POST "$url" /v1/reports "Origin: https://shop.example"$'\r\n'"Content-Length: 0")" "Access-Control-Allow-Origin: *"
  not has "$(get "$url" /healthz "Origin: https://shop.example")" "Access-Control"
}

@test "campaigns: of one in phases nobody knows how many batches it has, but how many reports at most" {
  host
  printf '1 0\n0 1\n' >"$T/arms.txt"
  cat >"$T/campaigns/banners.yaml" <<EOF
database: $T/banners.db
sign: $T/sign.secret
seal: $T/seal.secret
tokens: $T/clients.hashes
campaign: {id: banners, learner: pe, features: $T/arms.txt, dimension: 2, arms: 2, release: central-bits, epsilon: 4, delta: 1e-3,
  level: event, batch: 2, largest: 2, horizon: 40}
EOF
  role analyzer analyzer "$T/host.yaml"
  operate 0 open banners
  local i
  for i in 1 2; do
    "$FARO" client --analyzer "$public/banners" --key "$T/sign.public" --token "$T/$i.token" --state "$T/$i.state" \
      --epsilon 4 --delta 1e-3 --trust joint --level event <<<0.5
  done
  answers "$public" /banners/v1/policy '"version":2'
  operate 0 list
  has "$output" "1 in phases"
  operate 0 show banners
  has "$output" "batches:   1 in phases, with 2 of at most 40 reports"
}
