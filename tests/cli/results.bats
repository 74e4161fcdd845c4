# Where results go, that none are lost, running them again, and looking before running.

load support

setup() { faro_setup; }
teardown() { faro_teardown; }

# A small experiment NAME.yaml in the current folder: experiment NAME [ARMS]
experiment() {
  cat >"$1.yaml" <<-YAML
	environment: {name: linear-fixed, dimension: 3, arms: ${2:-5}}
	horizon: 60
	instances: 2
	algorithms:
	  - {label: open, learner: linucb, release: none}
	  - {label: server, learner: linucb, release: central-factored, batch: 10}
	YAML
}

# The folder that the last run reports.
folder() { sed -n 's|^report: \(.*\)/report.html$|\1|p' <<<"$output"; }

# ---- folders

@test "results go to results/EXPERIMENT, and overrides and --quick are in the folder's name" {
  cd "$T" && experiment a
  faro 0 run a.yaml --quiet
  [ "$(folder)" = results/a ]
  [ -s results/a/report.html ]
  faro 0 run a.yaml --quiet --set epsilon=5
  [ "$(folder)" = results/a,epsilon=5 ]
  faro 0 run a.yaml --quiet --quick --set 'epsilon=[0.5, 1]' --set reward=uniform
  [ "$(folder)" = results/a-quick,epsilon=0.5+1,reward=uniform ]
  [ -z "$stderr" ]
}

@test "the same run again replaces its own results" {
  cd "$T" && experiment a
  faro 0 run a.yaml --quiet
  cp results/a/summary.csv first
  rm results/a/report.html
  faro 0 run a.yaml --quiet
  [ "$(folder)" = results/a ]
  [ -z "$stderr" ]
  cmp first results/a/summary.csv
  [ "$(ls results)" = a ]
}

@test "an experiment that was changed, and one of the same name elsewhere, go to folders of their own" {
  cd "$T" && experiment a
  faro 0 run a.yaml --quiet
  cp -r results/a kept
  experiment a 7
  faro 0 run a.yaml --quiet
  [ "$(folder)" = results/a-2 ]
  [ "$stderr" = "faro: results/a holds other results; these go to results/a-2" ]
  mkdir b && (cd b && experiment a 8)
  faro 0 run b/a.yaml --quiet
  [ "$(folder)" = results/a-3 ]
  diff -r kept results/a
  faro 0 run a.yaml --quiet # finds its own again
  [ "$(folder)" = results/a-2 ]
  [ "$(ls results | tr '\n' ' ')" = "a a-2 a-3 " ]
}

@test "long and odd overrides make a usable name" {
  slow_test
  cd "$T" && experiment a
  local values
  values=$(seq -s ', ' 1 100)
  faro 0 run a.yaml --quiet --set "epsilon=[$values]" --set instances=1 --set horizon=10
  local name
  name=$(basename "$(folder)")
  [[ $name == a,epsilon=1+2+3+* ]]
  [ "${#name}" -le 120 ]
  values=$(seq -s ', ' 1 99)
  faro 0 run a.yaml --quiet --set "epsilon=[$values]" --set instances=1 --set horizon=10
  [ "$(basename "$(folder)")" = "$name-2" ]
}

@test "--out that holds other results is refused; --fresh replaces them" {
  cd "$T" && experiment a && experiment b
  faro 0 run a.yaml --quiet --out x
  cp -r x kept
  for words in "run a.yaml --set epsilon=2" "run b.yaml" "run a.yaml --quick"; do
    if [ "$words" = "run a.yaml --quick" ]; then experiment a && sed -i 's/horizon: 60/horizon: 3000/' a.yaml; fi
    faro 3 $words --quiet --out x
    [ "$stderr" = "faro: x: holds the results of another experiment or of other settings; choose another --out, or use --fresh to replace them" ]
    [ -z "$output" ]
    diff -r kept x
  done
  faro 0 run a.yaml --quiet --set epsilon=2 --set horizon=60 --out x --fresh
  not cmp -s kept/summary.csv x/summary.csv
}

@test "an unfinished run of other settings is left alone" {
  cd "$T" && experiment a
  mkdir -p results/a/summary.csv.new/in-the-way
  faro 4 run a.yaml --quiet
  rm -r results/a/summary.csv.new
  cp results/a/instances.journal kept
  experiment a 9
  faro 0 run a.yaml --quiet
  [ "$(folder)" = results/a-2 ]
  cmp kept results/a/instances.journal
  experiment a
  faro 0 run a.yaml
  has "$stderr" "faro: 4 of 4 instances were saved by an earlier run"
  [ "$(folder)" = results/a ]
}

@test "results without their origin are another's" {
  cd "$T" && experiment a
  faro 0 run a.yaml --quiet
  jq -c 'del(.identity)' results/a/run.json >run && mv run results/a/run.json
  faro 0 run a.yaml --quiet
  [ "$(folder)" = results/a-2 ]
  echo broken >results/a-2/run.json
  faro 0 run a.yaml --quiet
  [ "$(folder)" = results/a-3 ]
}

# ---- what is kept

@test "the experiment, the overrides and the command are kept" {
  cd "$T" && experiment a
  faro 0 run a.yaml --quiet --set 'epsilon=[1, 2]' --set delta=1e-5 --out "it's"
  cmp a.yaml "it's/experiment.yaml"
  jq -e --arg command "faro run a.yaml --quiet --set 'epsilon=[1, 2]' --set delta=1e-5 --out 'it'\\''s'" '
    .command == $command and .overrides == ["epsilon=[1, 2]", "delta=1e-5"] and .quick == false' "it's/run.json"
}

@test "rerun: the same bytes, and a difference is found" {
  cd "$T" && experiment a
  faro 0 run a.yaml --quiet --quick --set 'epsilon=[1, 2]' --set batch=5 --out x
  rm a.yaml
  faro 0 rerun x --quiet
  has "$output" "summary.csv is the same, byte for byte, as the one in x"
  [ "$(folder)" = x-rerun ]
  cmp x/summary.csv x-rerun/summary.csv
  cmp x/curves.csv x-rerun/curves.csv
  jq -e '.experiment == "a" and .overrides == ["epsilon=[1, 2]", "batch=5"] and .quick' x-rerun/run.json
  faro 0 rerun x-rerun/ --quiet --jobs 1 --out y
  cmp x/summary.csv y/summary.csv
  faro 0 rerun x --quiet
  [ "$(folder)" = x-rerun-2 ]
  echo >>x/summary.csv
  faro 1 rerun x --quiet --out z
  has "$output" "summary.csv is different from the one in x"
}

@test "rerun of what cannot be" {
  check_test
  cd "$T" && experiment a
  faro 2 rerun
  has "$stderr" "DIR is required: the directory of a finished run"
  faro 3 rerun nowhere
  has "$stderr" "faro: nowhere/run.json: cannot be read: No such file or directory"
  faro 0 run a.yaml --quiet --out x
  jq -c 'del(.overrides)' x/run.json >old && cp x/run.json new && mv old x/run.json
  faro 3 rerun x
  has "$stderr" "faro: x/run.json: does not say how it was run (it may be from an older version of faro)"
  jq -c '.overrides = [3]' new >x/run.json
  faro 3 rerun x
  has "$stderr" "overrides must be a list of texts KEY=VALUE"
  jq -c '.overrides = ["epsilom=3"]' new >x/run.json
  faro 3 rerun x
  has "$stderr" "did you mean epsilon?"
  cp new x/run.json && rm x/experiment.yaml
  faro 3 rerun x
  has "$stderr" "faro: x/experiment.yaml: cannot be read: No such file or directory"
  gone x-rerun
}

# ---- before running

@test "--dry-run tells claims, instances, rounds and time, and writes nothing" {
  cd "$T" && experiment a
  faro 0 run a.yaml --dry-run --set 'epsilon=[1, 2]' --set delta=0.1
  [ "${lines[0]}" = a ]
  has "$output" "epsilon 1:"
  has "$output" "  server  batch 10      (2, 0.1) proven, trust: central"
  has "$output" "  open    batch 1       nothing is claimed"
  has "$output" "6 instances to play (4 rows, 2 instances each), 360 rounds in all" # no privacy: once
  grep -q '^about [0-9]* s with [0-9]* threads* on this machine$' <<<"$output"
  has "$output" "results would go to results/a,epsilon=1+2,delta=0.1; nothing was written"
  [ -z "$stderr" ]
  gone results
  faro 0 run a.yaml --dry-run --json --jobs 1
  jq -e '.instances == 4 and .rounds == 240 and .seconds > 0 and .threads == 1 and .folder == "results/a" and
    (.results | map([.label, .claim.epsilon, .settings.batch]) == [["open", null, 1], ["server", 1, 10]])' <<<"$output"
  faro 0 run a.yaml --dry-run --set growth=2
  has "$output" "  server  batch 10..    "
  faro 3 run a.yaml --dry-run --set epsilon=0
  gone results
}

@test "new writes an experiment that runs, and replaces nothing" {
  check_test
  cd "$T"
  faro 0 new mine
  [ "${lines[0]}" = mine.yaml ]
  grep -q 'faro run mine.yaml' mine.yaml
  not grep -q '@' mine.yaml
  faro 0 run mine.yaml --quick --quiet --json
  jq -e '.results | length == 4 and all(.claim.proven or .release == "none")' <<<"$output"
  cp mine.yaml kept
  faro 3 new mine
  [ "$stderr" = "faro: mine.yaml exists already; choose another name" ]
  faro 3 new mine.yaml
  cmp mine.yaml kept
  mkdir sub
  faro 0 run mine --quick --dry-run # without .yaml: the file here
  faro 0 new "my exp"
  has "$output" "run it with: faro run 'my exp.yaml'"
  faro 0 new sub/other.yaml
  [ -s sub/other.yaml ]
  faro 4 new none/x
  has "$stderr" "faro: none/x.yaml: cannot be written: No such file or directory"
  faro 2 new
  faro 2 new ""
  faro 2 new sub/
}

@test "the sweep that the new experiment offers in a comment runs too" {
  slow_test
  cd "$T"
  faro 0 new mine
  sed -e '/^epsilon: 2/d' -e 's/^# \(sweep:\|  epsilon:\|plot:\)/\1/' mine.yaml >swept.yaml
  faro 0 run swept.yaml --quiet --json --set horizon=300 --set instances=1
  jq -e '.results | map(.epsilon) | unique == [0.5, 1, 2, 5, 10]' <<<"$output"
}

@test "--quick says which batch it plays, and leaves out what has become the same" {
  cd "$T"
  cat >q.yaml <<-'YAML'
	environment: {name: linear-fixed, dimension: 3, arms: 5}
	horizon: 4000
	algorithms:
	  - {label: batch 50, learner: linucb, release: shuffle-bits, batch: 50}
	  - {label: batch 1000, learner: linucb, release: shuffle-bits, batch: 1000}
	  - {label: batch 2000, learner: linucb, release: shuffle-bits, batch: 2000}
	  - {label: server 2000, learner: linucb, release: central-tree, batch: 2000}
	  - {label: a, learner: linucb, release: none, batch: 7}
	  - {label: b, learner: linucb, release: none, batch: 7}
	YAML
  faro 0 run q.yaml --quick --quiet --json
  jq -e '.results | map([.label, .settings.batch]) == [["batch 50", 50], ["batch 1000, batch cut to 200", 200],
    ["server 2000, batch cut to 200", 200], ["a", 7], ["b", 7]]' <<<"$output"
}

# ---- interrupts

# Ends a long instance after a second, and counts the seconds that it takes to obey.
@test "an interrupt is obeyed within an instance, and nothing is left behind" {
  cat >"$T/long.yaml" <<-'YAML'
	environment: {name: linear-iid, dimension: 20, arms: 500}
	horizon: 1000000000
	instances: 1
	algorithms: [{learner: linucb, release: none, batch: 1000}]
	YAML
  # it ends without its threads, which the thread sanitizer reports if one of them has just finished
  TSAN_OPTIONS=report_thread_leaks=0 "$FARO" run "$T/long.yaml" --out "$T/a/b" >"$T/stdout" 2>"$T/stderr" 3>&- &
  pid=$!
  started+=("$pid")
  local i
  for ((i = 0; i < 12000; i++)); do
    [ -s "$T/a/b/instances.journal" ] && break
    sleep 0.02
  done
  kill -INT "$pid"
  finish
  [ "$ended" -eq 130 ]
  # on a busy machine, progress may come before it
  [ "$(tail -n 1 "$T/stderr")" = "faro: interrupted before the first instance finished; nothing was saved" ]
  gone "$T/a"
}

@test "on a terminal a bar shows the share of rounds and the time left, in 80 columns" {
  slow_test
  command -v script >/dev/null || skip "no script"
  cat >"$T/long.yaml" <<-'YAML'
	environment: {name: linear-iid, dimension: 20, arms: 500}
	horizon: 1000000000
	instances: 2
	algorithms: [{learner: linucb, release: none, batch: 1000}]
	YAML
  script -qefc "exec $FARO run $T/long.yaml --out $T/a" "$T/log" >/dev/null &
  local pid=$!
  until grep -q ' left' "$T/log"; do kill -0 "$pid"; sleep 0.1; done
  kill -INT $(cat "/proc/$pid/task/$pid/children")
  wait "$pid" || true
  tr '\r' '\n' <"$T/log" | sed 's/\x1b\[K//g' | grep '^\[' >"$T/bars"
  grep -qE '^\[ {24}\] 0 %, 0 of 2 instances, about .* left$' "$T/bars"
  [ "$(awk '{ if (length($0) > m) m = length($0) } END { print m }' "$T/bars")" -le 79 ]
}
