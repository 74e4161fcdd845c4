# faro reproduce: runs, the page, what is not repeated, and the verdict.

load support

setup() { faro_setup; }
teardown() { faro_teardown; }

# A folder with an experiment of its own, which takes milliseconds, and what was "published" about it.
own() {
  mkdir -p "$T/own/experiments/published"
  cat >"$T/own/experiments/tiny.yaml" <<'Y'
title: A tiny one
environment: {name: linear-fixed, dimension: 2, arms: 5}
horizon: 200
instances: 4
sweep: {epsilon: [1, 10]}
algorithms:
  - {label: plain, learner: linucb, release: none}
  - {label: "a <b> | c", learner: linucb, release: local}
Y
  publish 1000 "from: 1e-6, to: 0.1, text: too large to be true"
  cd "$T/own"
}

# publish MEAN REASON
publish() {
  cat >"$T/own/experiments/published/tiny.yaml" <<Y
paper: faro
shows: Figure 0
calibrations: tight, paper
numbers: Made up.
instances: 4
values: [{label: plain, mean: $1}]
sentences: [{says: privacy costs, less: plain, than: "a <b> | c"}]
reasons: [{$2}]
Y
}

@test "the list names papers, experiments and figures" {
  faro 0 reproduce --list
  has "$output" "Chowdhury & Zhou 2022"
  has "$output" "  004-table2             Table 2"
  [ "$(grep -c '^  ' <<<"$output")" -eq "$(ls experiments/published/*.yaml | wc -l)" ]
}

@test "what to reproduce must be said, and must exist" {
  faro 2 reproduce
  has "$stderr" "NAME or --all is required"
  faro 2 reproduce --all 000-fig1
  has "$stderr" "NAME and --all exclude each other"
  faro 3 reproduce 000-fig3 --out "$T/a"
  has "$stderr" 'no published results for "000-fig3" (did you mean 000-fig'
  gone "$T/a"
  faro 3 reproduce 000-fig1 --out "" --quiet
  has "$stderr" "--out must be a path of 1 to 4095 characters"
}

@test "a page is written in three forms, with every calibration" {
  own
  faro 0 reproduce tiny --out "$T/a" --quiet
  [ -z "$stderr" ]
  has "$output" "tight: 1 explained, 1 holds; paper: 1 explained, 1 not shown"
  has "$output" "page: $T/a/reproduce.html"
  has "$(<"$T/a/reproduce.md")" "| plain | any epsilon | 1000 | 4.0 ± 0.0 ("
  [ "$(grep -c "| plain |" "$T/a/reproduce.md")" -eq 1 ] # once, not at every epsilon
  has "$(<"$T/a/reproduce.md")" 'a \<b> \| c'
  has "$(<"$T/a/reproduce.md")" "[1] too large to be true"
  has "$(<"$T/a/reproduce.md")" "No difference is unexplained."
  jq -e '.unexplained == 0 and .quick == false and (.experiments[0].runs | map(.calibration)) == ["tight", "paper"]
         and ([.experiments[0].comparisons[].verdict] | sort | unique) == ["explained", "holds", "not shown"]' "$T/a/reproduce.json"
  has "$(<"$T/a/reproduce.html")" "a &lt;b&gt; | c"
  [ "$(grep -c '<svg' "$T/a/reproduce.html")" -eq 2 ]
  not grep -E '(src|href)="?(http|//)' "$T/a/reproduce.html"
  [ -s "$T/a/tiny/paper/summary.csv" ]
}

@test "a difference without a reason is listed, and the status says so" {
  own
  publish 1000 "from: 1e-6, to: 1e-5, text: not small enough"
  faro 1 reproduce tiny --out "$T/a" --quiet
  has "$stderr" "unexplained: tiny, tight, plain at epsilon=1: ours "
  has "$stderr" "unexplained: tiny, paper, plain at epsilon=1: ours "
  has "$(<"$T/a/reproduce.md")" "2 differences are UNEXPLAINED."
  jq -e '.unexplained == 2' "$T/a/reproduce.json"
  publish 1000 "from: 1, to: 2, calibration: tigt, text: x"
  faro 3 reproduce tiny --out "$T/a" --quiet
  has "$stderr" "published/tiny.yaml:8: reasons[0].calibration must be one of any, tight, paper, figure"
}

@test "finished runs are not repeated, other experiments' are, and a foreign journal is no obstacle" {
  slow_test
  own
  faro 0 reproduce tiny --out "$T/a" --quiet
  touch -d 2001-01-01 "$T/a/tiny/tight/run.json"
  faro 0 reproduce tiny --out "$T/a" --quiet
  [ "$(stat -c %Y "$T/a/tiny/tight/run.json")" -eq "$(date -d 2001-01-01 +%s)" ]
  faro 0 reproduce tiny --out "$T/a" --quiet --fresh
  [ "$(stat -c %Y "$T/a/tiny/tight/run.json")" -ne "$(date -d 2001-01-01 +%s)" ]
  touch -d 2001-01-01 "$T/a/tiny/tight/run.json"
  sed -i 's/instances: 4/instances: 5/' experiments/tiny.yaml
  echo foreign >"$T/a/tiny/tight/instances.journal"
  faro 0 reproduce tiny --out "$T/a" --quiet
  jq -e '.instances == 5' "$T/a/tiny/tight/run.json"
  gone "$T/a/tiny/tight/instances.journal"
}

@test "--quick runs shipped experiments and compares nothing" {
  slow_test
  faro 0 reproduce 002-fig2c 004-table2 --quick --out "$T/a"
  has "$stderr" "faro: 4 of 4: 004-table2, calibration figure"
  has "$output" "quick: not compared"
  has "$(<"$T/a/reproduce.md")" "faro run 002-fig2c --quick: "
  not grep -q "| published |" "$T/a/reproduce.md"
  jq -e '.quick and (.experiments | length == 2 and all(.comparisons == [] and (.results | length > 0)))' "$T/a/reproduce.json"
}
