# faro verify: claims computed again from the recorded noise.

load support

setup() { faro_setup; }
teardown() { faro_teardown; }

# A copy of a run with something changed: changed DIR FILTER
changed() {
  mkdir -p "$T/changed"
  jq "$2" "$1/run.json" >"$T/changed/run.json"
}

@test "a run: every proven claim is verified" {
  faro 0 run 000-fig1 "${tiny[@]}" --set epsilon=1 --out "$T/run"
  faro 0 verify "$T/run"
  has "$output" "verified      $T/run/run.json: LinUCB-JDP: (1, 0.1), proven, trust central, event level, actions all, everything protected: delta is at most 0.1"
  has "$output" "LinUCB-SDP-Amp: (1, 0.1), proven, trust shuffle, event level, actions all, everything protected, local (2.14898, 0): delta"
  has "$output" $'\ntaken as recorded: by, horizon 300, '
  has "$output" "4 verified, 0 not verified, 0 wrong; 1 makes no proven claim"
  [ -z "$stderr" ]
  faro 0 verify "$T/run" --json
  [ "$(jq -s 'map(select(.verdict == "verified" and .delta_high <= .delta)) | length' <<<"$output")" = 4 ]
}

@test "a run at published constants: verified, and loose bounds of single users are named" {
  faro 0 run tight-against-paper "${tiny[@]}" --set calibration=paper --set batch=200 --set horizon=2000 --out "$T/run"
  [ "$(jq '[.results[] | .claim["local"].epsilon // empty | select(. > 1.4 and . < 1.42)] | length' "$T/run/run.json")" = 1 ]
  faro 0 verify "$T/run"
  has "$output" "local.epsilon"
  has "$output" "3 verified, 0 not verified, 0 wrong; 1 makes no proven claim"
}

@test "a run in which something was changed: wrong" {
  check_test
  faro 0 run 000-fig1 "${tiny[@]}" --set epsilon=1 --out "$T/run"
  local filter
  for filter in '(.results[] | select(.label == "LinUCB-JDP") | .grounds.sd[]) *= 0.99' \
    '(.results[] | select(.label == "LinUCB-JDP") | .grounds.releases) *= 2' \
    '(.results[] | select(.label == "LinUCB-JDP") | .grounds.repeats) = 2' \
    '(.results[] | select(.label == "LinUCB-JDP") | .claim.epsilon) = 0.99' \
    '(.results[] | select(.label == "LinUCB-JDP") | .claim.delta) = 0.099'; do
    changed "$T/run" "$filter"
    faro 1 verify "$T/changed"
    has "$output" "wrong         $T/changed/run.json: LinUCB-JDP"
    has "$output" "3 verified, 0 not verified, 1 wrong"
  done
  changed "$T/run" '(.results[] | select(.label == "LinUCB-SDP-Vec") | .grounds.levels[].nodes[].bits) |= (. * 0.98 | floor)'
  faro 1 verify "$T/changed"
  has "$output" "wrong         $T/changed/run.json: LinUCB-SDP-Vec"
}

@test "a run without grounds is not verified, and a malformed one says what is wrong" {
  faro 0 run 000-fig1 "${tiny[@]}" --set epsilon=1 --out "$T/run"
  changed "$T/run" 'del(.results[].grounds)'
  faro 1 verify "$T/changed"
  has "$output" "not verified  $T/changed/run.json: LinUCB-JDP: (1, 0.1), proven, trust central, event level, actions all, everything protected: no grounds are recorded"
  changed "$T/run" '(.results[] | select(.label == "LinUCB-JDP") | .grounds.releases) = "many"'
  faro 3 verify "$T/changed"
  has "$stderr" 'results[1]: grounds: releases must be a number from 1 to 1099511627776 (got "many")'
  changed "$T/run" 'del(.results[].claim.protects)'
  faro 3 verify "$T/changed"
  has "$stderr" "results[1]: claim must have trust, level, actions, protects, assumes and local: results of an earlier version must be run again"
  echo "{" >"$T/changed/run.json"
  faro 3 verify "$T/changed"
  has "$stderr" "run.json:2: not JSON"
  faro 3 verify "$T"
  has "$stderr" "run.json: cannot be read"
}

@test "a claim that says more than its noise, its release or its settings: wrong" {
  check_test
  faro 0 run 000-fig1 "${tiny[@]}" --set epsilon=1 --out "$T/run"
  local filter
  while IFS='|' read -r filter words; do
    changed "$T/run" "(.results[] | select(.label == \"LinUCB-SDP-Vec\")) |= (${filter// \/ / | })"
    faro 1 verify "$T/changed"
    has "$output" "$words"
    has "$output" "3 verified, 0 not verified, 1 wrong"
  done <<'EDITS'
.claim.level = "user" / .claim.contributions = 50|claim.level is user, and settings.level event
.claim.level = "user" / .claim.contributions = 50 / .settings.level = "user" / .settings.contributions = 50|the claim is for 50 rounds of a person, and the noise for repeats 1
.claim.trust = "local"|claim.trust is local, and release shuffle-bits has trust shuffle
.claim.actions = "others"|claim.actions is others, and they are all in environment linear-fixed
.claim.protects = "rewards"|claim.protects is rewards, and settings.protect all
.claim.local.epsilon = 0.01|the messages of one user give delta
.claim.local.epsilon *= 2|and the messages of one user give less
.settings.epsilon = 0.1|claim.epsilon is 1, and settings.epsilon 0.1
.grounds.contribution.dimension = 1|grounds: dimension is 1, and settings.dimension 5
.grounds.levels[0].nodes[0].honest *= 10|grounds: honest is
EDITS
}

@test "a line of what is printed is not written by the file" {
  faro 0 run 000-fig1 "${tiny[@]}" --set epsilon=1 --out "$T/run"
  changed "$T/run" '(.results[] | select(.label == "LinUCB-JDP") | .label) = "a\nverified      b"'
  faro 0 verify "$T/changed"
  has "$output" "run.json: a?verified      b: (1, 0.1), proven"
  changed "$T/run" 'del(.results[1].settings) | .results[1].claim.assumes = "x\nverified      b"'
  faro 1 verify "$T/changed"
  has "$output" "assumes that x?verified      b: settings is missing, and a run records what its claims follow from"
}

@test "people who return are refused, or the claim is wrong" {
  faro 0 run 000-fig1 "${tiny[@]}" --set epsilon=1 --set population=50 --set level=user --set contributions=2 --out "$T/run"
  faro 0 verify "$T/run"
  changed "$T/run" '.results[1].refused = 0'
  faro 1 verify "$T/changed"
  has "$output" "300 rounds were counted of 50 people, and the claim is for 2 of each"
}

@test "an experiment is checked without running it" {
  faro 0 verify 000-fig2
  has "$output" "8 verified, 0 not verified, 0 wrong; 2 make no proven claim"
  faro 3 verify 000-fig3
  has "$stderr" 'no experiment "000-fig3"'
}

@test "anytime: all releases that the horizon needs are recorded" {
  faro 0 run 000-fig1 --quiet --set horizon=5000 --set instances=1 --set epsilon=1 --set anytime=true --out "$T/run"
  [ "$(jq '[.results[] | select(.label == "LinUCB-JDP") | .grounds.parts[].releases]' -c "$T/run/run.json")" != "[]" ]
  faro 0 verify "$T/run"
  has "$output" "4 verified, 0 not verified, 0 wrong"
  changed "$T/run" '(.results[] | select(.label == "LinUCB-JDP") | .grounds.parts[1].sd[]) *= 0.99'
  faro 1 verify "$T/changed"
  has "$output" "3 verified, 0 not verified, 1 wrong"
  changed "$T/run" 'del(.results[] | select(.label == "LinUCB-JDP") | .grounds.parts[0])'
  faro 1 verify "$T/changed"
  has "$output" "and one of 1024 is due"
}

@test "shufflers log, and phases: nodes as large as the people allow, and levels that all are there" {
  check_test
  printf '%s\n' "environment: {name: linear-iid, dimension: 3, arms: 10}" "horizon: 20000" "instances: 1" "algorithms:" \
    "  - {label: a, learner: linucb, release: concurrent-bits, shufflers: log, batch: 100, honest: 0.255}" >"$T/log.yaml"
  printf '%s\n' "environment: {name: linear-fixed, dimension: 3, arms: 10}" "horizon: 20000" "instances: 1" "algorithms:" \
    "  - {label: b, learner: pe, release: shuffle-bits}" >"$T/phases.yaml"
  local file filter words
  for file in log phases; do
    faro 0 run "$T/$file.yaml" --quiet --out "$T/$file"
    faro 0 verify "$T/$file"
  done
  while IFS=';' read -r file filter words; do
    changed "$T/$file" ".results[0] |= (.claim[\"local\"] = null | ${filter// \/ / | })"
    faro 1 verify "$T/changed"
    has "$output" "$words"
  done <<'EDITS'
log;del(.grounds.levels[-1]) / .grounds.levels[].nodes[] |= (.bits *= 2 / .cut = .bits * 0.5);and shufflers log takes all but the root of 200 batches
log;.grounds.levels[1:][].nodes[] |= (.honest += 1);grounds: honest is
phases;.grounds.parts[].levels[].nodes[] |= (.users *= 50 / .honest *= 50);batches of 20000 people
EDITS
}

@test "usage" {
  faro 2 verify
  has "$stderr" "either DIR, the directory of a finished run, or --campaign FILE is required"
  faro 2 verify --campaign "$T/campaign"
  has "$stderr" "--campaign and --key go together"
}

@test "the demo's campaign is verified" {
  check_test
  faro 0 demo --clients 60 --rounds 2 --threads 4 --directory "$T/demo"
  has "$output" "claim computed again: verified, delta is at most 9.99"
  faro 0 verify --campaign "$T/demo/campaign" --key "$T/demo/analyzer.sign.public"
  has "$output" "1 verified, 0 not verified, 0 wrong"
  faro 3 verify --campaign "$T/demo/campaign" --key "$T/demo/shuffler-0.sign.public"
  has "$stderr" "signature"
}

@test "a build without FLINT says so, and does all else" {
  FARO=${FARO%/*}/tests/faro_unverified
  local missing="this faro was built without FLINT, which computes claims again; build it where libflint-dev is installed"
  faro 4 verify 000-fig2
  has "$stderr" "$missing"
  [ -z "$output" ]
  faro 0 run 000-fig1 "${tiny[@]}" --set epsilon=1 --out "$T/run"
  faro 4 verify "$T/run"
  has "$stderr" "$missing"
  check_test
  faro 0 demo --clients 60 --rounds 2 --threads 4
  has "$output" "claim computed again: $missing"
}
