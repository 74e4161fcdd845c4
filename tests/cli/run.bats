# faro run: results, their repeatability, interruption and continuation, and the command line.

load support

setup() { faro_setup; }
teardown() { faro_teardown; }

same_results() {
  cmp "$1/summary.csv" "$2/summary.csv"
  cmp "$1/curves.csv" "$2/curves.csv"
}

# A finished journal in DIR, without results: their place is taken, so that writing them fails.
journal_only() {
  local dir=$1
  shift
  mkdir -p "$dir/summary.csv.new/in-the-way"
  faro 4 run 000-fig1 --out "$dir" "${tiny[@]}" "$@"
  rm -r "$dir/summary.csv.new"
  [ -s "$dir/instances.journal" ]
  gone "$dir/summary.csv"
}

# ---- results

@test "every shipped experiment runs with --quick" {
  slow_test
  local file name
  for file in experiments/*.yaml; do
    name=$(basename "$file" .yaml)
    if [[ $name == real-* && ! -e data/${name#real-}.csv ]]; then
      echo "# $name is left out: data/${name#real-}.csv is missing, which faro data writes" >&3
      continue
    fi
    faro 0 run "$name" --quick --quiet --out "$T/$name"
    has "$output" "report: $T/$name/report.html"
    [ -z "$stderr" ]
    [ "$(find "$T/$name" -type f -printf '%f\n' | sort | tr '\n' ' ')" = \
      "$(printf '%s\n' "$name.svg" curves.csv experiment.yaml instances.csv report.html run.json summary.csv table.tex | sort | tr '\n' ' ')" ]
    jq -e '.results | length > 0 and all(.rounds <= 2000 and .instances <= 4)' "$T/$name/run.json"
  done
}

@test "--quick holds for a swept horizon too" {
  faro 0 run 000-fig1 --quick --quiet --set epsilon=1 --set 'horizon=[1000, 3000]' --json --out "$T/a"
  jq -e '.results | all(.rounds <= 2000)' <<<"$output"
}

@test "the number of threads changes nothing" {
  slow_test
  local name
  for name in 000-fig1 000-fig2; do
    faro 0 run $name "${tiny[@]}" --jobs 1 --out "$T/$name-1"
    faro 0 run $name "${tiny[@]}" --jobs 2 --out "$T/$name-2"
    faro 0 run $name "${tiny[@]}" --jobs=7 --out "$T/$name-7"
    same_results "$T/$name-1" "$T/$name-2"
    same_results "$T/$name-1" "$T/$name-7"
  done
}

@test "the seed changes something" {
  faro 0 run 000-fig1 "${tiny[@]}" --out "$T/a"
  faro 0 run 000-fig1 "${tiny[@]}" --set seed=2 --out "$T/b"
  not cmp -s "$T/a/summary.csv" "$T/b/summary.csv"
  not cmp -s "$T/a/curves.csv" "$T/b/curves.csv"
}

@test "instances are paired: without privacy, epsilon is nothing" {
  faro 0 run 000-fig1 "${tiny[@]}" --out "$T/a"
  [ "$(grep -c '^"LinUCB",' "$T/a/summary.csv")" -eq 3 ]
  [ "$(grep '^"LinUCB",' "$T/a/summary.csv" | cut -d, -f1,3- | sort -u | wc -l)" -eq 1 ]
  [ "$(grep '^"LinUCB-LDP",' "$T/a/summary.csv" | cut -d, -f1,3- | sort -u | wc -l)" -eq 3 ]
  faro 0 run 000-fig1 "${tiny[@]}" --set epsilon=5 --out "$T/b"
  [ "$(grep '^"LinUCB",' "$T/b/summary.csv")" = "$(grep '^"LinUCB",' "$T/a/summary.csv" | cut -d, -f1,3- | sort -u)" ]
}

@test "--json has its fields" {
  faro 0 run 000-fig1 "${tiny[@]}" --json --out "$T/a"
  [ -z "$stderr" ]
  jq -e '
    def number: type == "number"; def text: type == "string" and length > 0;
    def number_or_null: type == "number" or type == "null";
    .experiment == "000-fig1" and (.results | length == 15) and (.results | all(
      (.label | text) and (.learner | text) and (.release | text) and (.epsilon | number) and (.delta | number) and
      (.regret | (.mean | number) and (.sd | number) and (.median | number)) and
      .rounds == 300 and .instances == 3 and (.bytes_per_user | number) and (.bits_per_user | number) and .updates > 0 and (.seconds | number) and
      (.claim | (.epsilon | number_or_null) and (.delta | number_or_null) and (.trust | text) and .level == "event" and
        (.proven | type == "boolean") and (.by | text)) and
      (.release == "none") == (.claim.epsilon == null) and (has("curve") | not)))' <<<"$output"
  jq -e '[.results[] | select(.label == "LinUCB-LDP") | [.epsilon, .claim.epsilon, .claim.trust, .claim.proven]] ==
    [[0.2, 0.2, "local", true], [1, 1, "local", true], [10, 10, "local", true]]' <<<"$output"
}

@test "--json prints what run.json keeps" {
  faro 0 run 000-fig1 "${tiny[@]}" --json --out "$T/a"
  [ "$(jq -S .results <<<"$output")" = "$(jq -S '.results | map(del(.curve, .each))' "$T/a/run.json")" ]
}

@test "--csv prints summary.csv" {
  faro 0 run 000-fig1 "${tiny[@]}" --csv --out "$T/a"
  [ -z "$stderr" ]
  printf '%s\n' "$output" | cmp - "$T/a/summary.csv"
}

@test "CSV files have as many columns in every line, and the lines they should have" {
  faro 0 run 000-fig1 "${tiny[@]}" --out "$T/a"
  csv_rows "$T/a/summary.csv" >"$T/summary"
  csv_rows "$T/a/curves.csv" >"$T/curves"
  jq -es 'length == 16 and (map(length) | unique | length == 1)' "$T/summary"
  jq -es 'length == 1 + 15 * 200 and (map(length) | unique == [10])' "$T/curves"
  jq -es '.[1:] | group_by([.[0], .[1]]) | all(map(.[2]) | . == sort and .[-1] == 300)' "$T/curves"
  csv_rows "$T/a/instances.csv" >"$T/instances"
  jq -es 'length == 1 + 15 * 3 and (map(length) | unique | length == 1) and
    (.[0] | .[:6] == ["label", "epsilon", "instance", "regret", "uniform", "fixed"])' "$T/instances"
}

@test "the table fits the terminal, and has colours only there" {
  faro 0 run 000-fig1 "${tiny[@]}" --set calibration=figure --out "$T/a"
  [[ $output != *$'\033'* ]]
  COLUMNS=80 faro 0 report "$T/a"
  [ "$(awk '{ if (length($0) > m) m = length($0) } END { print m }' <<<"$output")" -le 80 ]
  has "$output" "not proven"
  script -qec true /dev/null >"$T/none" 2>&1 || skip "no terminal can be made here"
  TERM=xterm script -qec "$FARO report $T/a" /dev/null >"$T/shown"
  grep -q $'\033\\[31m.*not proven' "$T/shown"
  NO_COLOR=1 TERM=xterm script -qec "$FARO report $T/a" /dev/null >"$T/shown"
  ! grep -q $'\033\\[31m' "$T/shown"
}

# Two learners behind one release, of which the second has batches of one size.
rivals() {
  printf 'horizon: 1200\ninstances: 2\nenvironment: {name: linear-fixed, dimension: 3, arms: 5}\nalgorithms:
  - {learner: posterior, release: shuffle-bits, label: <p>}\n  - {learner: linucb, release: shuffle-bits}
  - {learner: linucb, release: central-factored}\n  - {learner: posterior, release: none}\n  - {learner: linucb, release: none}\n'
}

@test "rows that differ in their learner and in their batches are named" {
  rivals >"$T/rivals.yaml"
  faro 0 run "$T/rivals.yaml" --quiet --out "$T/a"
  [ "$(grep -c '^batches differ' <<<"$output")" = 1 ]
  grep -qE '^batches differ: <p> \([0-9]+\.\.\), linucb/shuffle-bits \([0-9]+\); --set batch=B compares the learners alone$' <<<"$output"
  has "$(cat "$T/a/report.html")" "<p>batches differ: &lt;p&gt; ("
  faro 0 run "$T/rivals.yaml" --quiet --out "$T/b" --set batch=100
  not has "$output" "batches differ"
}

@test "a shuffler that adds nothing to what messages promise by themselves is named" {
  printf 'horizon: 500\ninstances: 1\nepsilon: 5\nbatch: 50\nenvironment: {name: linear-fixed, dimension: 3, arms: 5}\nalgorithms:
  - {learner: posterior, release: shuffle-response, label: one}\n  - {learner: posterior, release: shuffle-bits}\n' >"$T/idle.yaml"
  faro 0 run "$T/idle.yaml" --quiet --out "$T/a"
  has "$output" $'\none: the shuffler adds nothing here; each message promises as much by itself\n'
  faro 0 run "$T/idle.yaml" --quiet --out "$T/b" --set epsilon=0.5 --set batch=250
  not has "$output" "adds nothing"
  faro 0 run "$T/idle.yaml" --quiet --out "$T/c" --set 'epsilon=[0.5, 4, 5]' --set batch=250
  has "$output" $'\none at epsilon 4, 5: the shuffler adds nothing here;'
  faro 0 run "$T/idle.yaml" --quiet --out "$T/d" --set 'epsilon=[4, 5]'
  has "$output" $'\none: the shuffler adds nothing here;'
}

@test "honest: the claim counts on the noise of this share of a batch, and a campaign promises the same" {
  rivals >"$T/rivals.yaml"
  faro 0 run "$T/rivals.yaml" --quiet --out "$T/a" --set honest=0.9 --set batch=100
  has "$output" ", honest 0.9, batch 100,"
  jq -e '[.results[] | select(.release == "shuffle-bits") | .grounds.levels[].nodes[] | .users == 100 and .honest == 90] |
    length == 2 and all' "$T/a/run.json"
  faro 0 verify "$T/a"
  faro 0 run "$T/rivals.yaml" --quiet --out "$T/b" --set batch=100
  not has "$output" "honest"
  # nine tenths of the users add all the noise that ten tenths added, rounded up for each of them
  local sums='[.results[] | select(.release == "shuffle-bits") | .grounds.levels[0].nodes[0] | .honest * .bits] | .[0]'
  jq -n -e --argjson a "$(jq "$sums" "$T/a/run.json")" --argjson b "$(jq "$sums" "$T/b/run.json")" '$a / $b | . > 0.99 and . < 1.01'
  faro 3 run "$T/rivals.yaml" --quiet --out "$T/c" --set honest=0.9 --set calibration=paper --set batch=100
  has "$stderr" "honest must be 1 under calibration paper"
}

@test "numbers in summary.csv and curves.csv read back exactly" {
  check_test
  faro 0 run 000-fig1 "${tiny[@]}" --json --out "$T/a"
  csv_rows "$T/a/summary.csv" | jq -s '.[0] as $head | .[1:] | map([$head, .] | transpose |
    map({(.[0]): .[1]}) | add)' >"$T/rows"
  jq -e --slurpfile rows "$T/rows" '[.results, $rows[0]] | transpose | length == 15 and all(
    .[0] as $r | .[1] as $c | $r.label == $c.label and $r.epsilon == $c.epsilon and
    $r.regret.mean == $c.regret_mean and $r.regret.sd == $c.regret_sd and $r.regret.se == $c.regret_se and
    $r.regret.q25 == $c.regret_q25 and $r.regret.median == $c.regret_median and $r.regret.q75 == $c.regret_q75 and
    $r.bytes_per_user == $c.bytes_per_user and $r.updates == $c.updates and $r.shifted == $c.shifted and
    $r.claim.epsilon == $c.claim_epsilon and $r.claim.delta == $c.claim_delta and $r.claim.by == $c.by and
    $r.claim.assumes == $c.assumes and ($c.claim_epsilon == null or $r.claim.protects == $c.protects))' <<<"$output"
  csv_rows "$T/a/curves.csv" | jq -s '.[1:] | map(.[3])' >"$T/curve"
  jq -e --slurpfile curve "$T/curve" '[.results[].curve.mean[]] == $curve[0]' "$T/a/run.json"
}

@test "the curve ends at the regret that is reported" {
  faro 0 run 000-fig1 "${tiny[@]}" --out "$T/a"
  jq -e '.results | all(.regret.mean == .curve.mean[-1] and .regret.q75 == .curve.q75[-1] and .curve.round[-1] == 300)' \
    "$T/a/run.json"
}

@test "the figure's calibration is called not proven everywhere" {
  faro 0 run 000-fig1 "${tiny[@]}" --set calibration=figure --out "$T/a"
  [ "$(grep -c '^ .* (.*) not proven$' <<<"$output")" -eq 12 ]
  not grep -q ') proven' <<<"$output"
  grep -q 'not proven' "$T/a/000-fig1.svg"
  grep -q 'not proven' "$T/a/report.html"
  [ "$(grep -c '"not proven"' "$T/a/summary.csv")" -eq 12 ]
  jq -e '.results | all(.claim.proven | not)' "$T/a/run.json"
  faro 0 run 000-fig1 "${tiny[@]}" --set calibration=figure --json --out "$T/b"
  jq -e '.results | all((.claim.proven | not) and (.claim.standing == "not proven" or .release == "none"))' <<<"$output"
}

@test "labels with markup and quotes stay text" {
  cat >"$T/markup.yaml" <<-'YAML'
	title: "<script>alert('t')</script> & \"more\""
	environment: {name: linear-fixed, dimension: 3, arms: 5}
	horizon: 50
	algorithms:
	  - {label: "<b>\"a\", b & c</b>", learner: linucb, release: none}
	  - {label: "größer, 更大", learner: linucb, release: local}
	YAML
  faro 0 run "$T/markup.yaml" --quiet --set instances=2 --out "$T/a"
  has "$output" "größer, 更大"
  not grep -q '<script>alert\|<b>"a' "$T/a/report.html" "$T/a/markup.svg"
  grep -q '&lt;b&gt;' "$T/a/report.html"
  grep -q '^"<b>""a"", b & c</b>",' "$T/a/summary.csv"
  jq -e '.results[0].label == "<b>\"a\", b & c</b>"' "$T/a/run.json"
}

# ---- continuing

# Starts a run, ends it by SIGNAL once its journal has grown, and demands STATUS; a machine that was too
# fast gets a longer run. Sets `command`, for the same run again: interrupt SIGNAL STATUS DIR
interrupt() {
  local instances
  for instances in 60 240 960; do
    rm -rf "$3" "$3".std*
    command=(--set epsilon=1 --set horizon=2000 --set "instances=$instances")
    start "$3" --jobs 2 "${command[@]}"
    if grown "$3" 50000; then kill -"$1" "$pid" || true; fi
    finish
    if [ "$ended" -ne 0 ]; then break; fi
  done
  echo "status $ended, not $2: $(cat "$3.stderr")"
  [ "$ended" -eq "$2" ]
  [ "$(stat -c %s "$3/instances.journal")" -gt 50000 ]
  gone "$3/summary.csv"
  gone "$3/run.json"
}

@test "an interrupted run goes on, to the same bytes" {
  slow_test
  interrupt INT 130 "$T/a"
  [ ! -s "$T/a.stdout" ]
  local kept
  kept=$(sed -n 's/^faro: interrupted: \([0-9]*\) of [0-9]* instances are finished and saved$/\1/p' "$T/a.stderr")
  [ "$kept" -ge 1 ]
  faro 0 run 000-fig1 "${command[@]}" --out "$T/a"
  has "$stderr" "faro: $kept of "
  has "$stderr" " instances were saved by an earlier run"
  gone "$T/a/instances.journal"
  [ "$(jq .resumed_instances "$T/a/run.json")" -eq "$kept" ]
  faro 0 run 000-fig1 "${command[@]}" --quiet --jobs 1 --out "$T/b"
  same_results "$T/a" "$T/b"
  [ "$(jq .resumed_instances "$T/b/run.json")" -eq 0 ]
}

@test "a killed run goes on, to the same bytes" {
  check_test
  interrupt KILL 137 "$T/a"
  faro 0 run 000-fig1 "${command[@]}" --jobs 1 --out "$T/a"
  has "$stderr" " instances were saved by an earlier run"
  gone "$T/a/instances.journal"
  [ "$(jq .resumed_instances "$T/a/run.json")" -ge 1 ]
  faro 0 run 000-fig1 "${command[@]}" --quiet --jobs 2 --out "$T/b"
  same_results "$T/a" "$T/b"
}

@test "a terminated run keeps its journal too" {
  check_test
  start "$T/a" --set instances=2000
  grown "$T/a" 50000
  kill -TERM "$pid"
  finish
  [ "$ended" -eq 130 ]
  has "$(cat "$T/a.stderr")" "faro: run the same command again to continue (saved in $T/a)"
  [ -s "$T/a/instances.journal" ]
  gone "$T/a/summary.csv"
}

@test "the journal is gone after success" {
  faro 0 run 000-fig1 "${tiny[@]}" --out "$T/a"
  gone "$T/a/instances.journal"
}

@test "when the results cannot be written, no instance is lost" {
  check_test
  journal_only "$T/a"
  has "$stderr" "faro: $T/a/summary.csv: cannot be written:"
  faro 0 run 000-fig1 --set horizon=300 --set instances=3 --out "$T/a"
  has "$stderr" "faro: 39 of 39 instances were saved by an earlier run"
  faro 0 run 000-fig1 "${tiny[@]}" --out "$T/b"
  same_results "$T/a" "$T/b"
}

@test "torn and spoilt records are played again" {
  slow_test
  local size record spoil kept
  journal_only "$T/whole"
  faro 0 run 000-fig1 "${tiny[@]}" --out "$T/b"
  size=$(stat -c %s "$T/whole/instances.journal")
  record=$(((size - 192) / 39)) # a header of 192 bytes, then records
  [ $((192 + 39 * record)) -eq "$size" ]
  # name, then what is left of the journal and what of it counts
  for spoil in appended torn header byte twice empty; do
    mkdir "$T/$spoil"
    local journal=$T/$spoil/instances.journal
    cp "$T/whole/instances.journal" "$journal"
    case $spoil in
    appended) printf 'garbage\377\000and more' >>"$journal" && kept=39 ;;
    torn) truncate -s $((192 + 20 * record + 100)) "$journal" && kept=20 ;;
    header) truncate -s 30 "$journal" && kept=0 ;;
    byte) printf '\252\125' | dd of="$journal" bs=1 seek=$((192 + 7 * record + 500)) conv=notrunc status=none && kept=7 ;;
    twice) head -c $((192 + record)) "$journal" | tail -c "$record" >>"$journal" && kept=39 ;;
    empty) truncate -s 0 "$journal" && kept=0 ;;
    esac
    faro 0 run 000-fig1 --set horizon=300 --set instances=3 --out "$T/$spoil"
    if [ $kept -gt 0 ]; then has "$stderr" "faro: $kept of 39 instances were saved by an earlier run"; fi
    [ "$(jq .resumed_instances "$T/$spoil/run.json")" -eq $kept ]
    same_results "$T/$spoil" "$T/b"
    gone "$journal"
  done
}

@test "the journal of another experiment is refused and left alone" {
  journal_only "$T/a"
  cp "$T/a/instances.journal" "$T/copy"
  faro 3 run 000-fig1 "${tiny[@]}" --set horizon=301 --out "$T/a"
  has "$stderr" "faro: $T/a/instances.journal: this is the unfinished run of another experiment"
  [ -z "$output" ]
  cmp "$T/a/instances.journal" "$T/copy"
  faro 3 run 000-fig2 "${tiny[@]}" --out "$T/a"
  cmp "$T/a/instances.journal" "$T/copy"
  faro 3 run 000-fig1 "${tiny[@]}" --set seed=2 --out "$T/a"
  cmp "$T/a/instances.journal" "$T/copy"
  gone "$T/a/summary.csv"
}

@test "--fresh discards a journal" {
  check_test
  journal_only "$T/a"
  faro 0 run 000-fig1 --set horizon=301 --set instances=3 --fresh --out "$T/a"
  not grep -q "kept" <<<"$stderr"
  gone "$T/a/instances.journal"
  faro 0 run 000-fig1 "${tiny[@]}" --set horizon=301 --out "$T/b"
  same_results "$T/a" "$T/b"
}

@test "a file that is no journal is left alone" {
  mkdir "$T/a"
  head -c 5000 /dev/zero | tr '\0' 'x' >"$T/a/instances.journal"
  cp "$T/a/instances.journal" "$T/copy"
  faro 3 run 000-fig1 "${tiny[@]}" --out "$T/a"
  cmp "$T/a/instances.journal" "$T/copy"
}

@test "two runs into one directory: the second is refused" {
  check_test
  start "$T/a" --set instances=2000
  grown "$T/a" 5000
  faro 4 run 000-fig1 --set instances=2000 --out "$T/a"
  [ "$stderr" = "faro: $T/a/instances.journal: another run is writing there" ]
  [ -z "$output" ]
  faro 4 run 000-fig1 "${tiny[@]}" --out "$T/a"
  kill -0 "$pid"
  kill -INT "$pid"
  finish
  [ "$ended" -eq 130 ]
  [ -s "$T/a/instances.journal" ]
}

@test "--fresh does not take the journal of a run that is going on" {
  check_test
  start "$T/a" --set instances=2000
  grown "$T/a" 5000
  run "$FARO" run 000-fig1 "${tiny[@]}" --fresh --out "$T/a"
  local refused=$status
  kill -INT "$pid"
  finish
  [ "$ended" -eq 130 ]
  [ "$refused" -eq 4 ]
  [ -s "$T/a/instances.journal" ]
}

@test "a finished run can be run again in its place" {
  check_test
  faro 0 run 000-fig1 "${tiny[@]}" --out "$T/a"
  cp -r "$T/a" "$T/b"
  faro 0 run 000-fig1 "${tiny[@]}" --out "$T/a"
  same_results "$T/a" "$T/b"
}

# ---- --set

@test "--set with a list sweeps" {
  check_test
  faro 0 run 000-fig1 "${tiny[@]}" --set 'epsilon=[0.5, 2]' --json --out "$T/a"
  jq -e '[.results[].epsilon] == [0.5, 0.5, 0.5, 0.5, 0.5, 2, 2, 2, 2, 2]' <<<"$output"
  faro 0 run 000-fig1 "${tiny[@]}" --set epsilon=1 --set 'dimension=[2, 3]' --json --out "$T/b"
  jq -e '[.results[].dimension] | unique == [2, 3]' <<<"$output"
  faro 0 run 000-fig1 "${tiny[@]}" --set epsilon=1 --set 'environment=[linear-iid, linear-adversarial]' --json --out "$T/c"
  jq -e '[.results[].name] | unique == ["linear-adversarial", "linear-iid"]' <<<"$output"
  grep -q '^"LinUCB","linear-iid",' "$T/c/summary.csv"
}

@test "--set replaces an algorithm's own value" {
  faro 0 run 000-fig1 "${tiny[@]}" --set epsilon=1 --set batch=30 --json --out "$T/a"
  jq -e '[.results[].settings.batch] == [1, 1, 30, 30, 1]' <<<"$output"
  faro 0 run 000-fig1 "${tiny[@]}" --set epsilon=1 --set 'batch=[10, 30]' --json --out "$T/b"
  jq -e '[.results[].settings.batch] == [10, 10, 10, 10, 10, 30, 30, 30, 30, 30]' <<<"$output"
}

@test "claims: rounded up, the local part, and which actions may be seen" {
  cat >"$T/claims.yaml" <<-END
	environment: {name: linear-fixed, dimension: 3, arms: 6, draw: sphere}
	horizon: 2000
	instances: 1
	epsilon: 1.2345644
	algorithms:
	  - {label: server, learner: hanna, release: central-laplace}
	  - {label: open, learner: hanna, release: shuffle-laplace}
	  - {label: secret, learner: hanna, release: shuffle-laplace, assignment: secret}
	  - {label: target, learner: linucb, release: shuffle-response, batch: 500, local_epsilon: 1}
	END
  faro 0 run "$T/claims.yaml" --quiet --out "$T/out"
  has "$output" "(1.23457, 1e-6) proven, local ("
  has "$output" "(1.23457, 1e-6) proven, actions hidden, local ("
  has "$(cat "$T/out/report.html")" "(1.23457, 1e-6) proven, actions hidden, local ("
  jq -e '[.results[].claim.trust] == ["central", "shuffle", "shuffle", "shuffle"]' "$T/out/run.json"
  jq -e '[.results[].claim.actions] == ["all", "all", "hidden", "all"]' "$T/out/run.json"
  jq -e '.results[2].claim.adversary_sees | contains("must stay hidden")' "$T/out/run.json"
  jq -e '.results[0].claim.local == null and .results[1].claim.local.delta == 0' "$T/out/run.json"
  jq -e '.results[3] | .claim.local.epsilon <= 1 and .claim.epsilon < 0.4 and .claim.epsilon == .settings.epsilon' "$T/out/run.json"
}

@test "--set calibration leaves out the algorithms that do not offer it, and says so everywhere" {
  check_test
  faro 0 run trust-models --quick --quiet --set calibration=figure --out "$T/a"
  has "$output" "left out, because they do not offer this calibration: no privacy, trusted server, "
  has "$(cat "$T/a/report.html")" "do not offer this calibration: no privacy, trusted server, "
  [ "$(jq '(.left_out | contains("trusted server (LinUCB)")), (.results | length)' "$T/a/run.json" | paste -sd' ')" = "true 2" ]
  faro 0 run trust-models --quick --quiet --out "$T/b"
  [ "$(jq '[has("left_out"), (.results | length)] == [false, 9]' "$T/b/run.json")" = true ]
  faro 3 run 002-fig2a --quick --quiet --set calibration=figure --out "$T/c"
  has "$stderr" "calibration must be one that an algorithm of this experiment offers: paper, tight"
  gone "$T/c"
}

@test "a key as an option, and a list without brackets: what was meant" {
  faro 2 run trust-models --seed 4
  has "$stderr" "unknown option --seed (did you mean --set seed=4?)"
  faro 2 run trust-models --horizon=5
  has "$stderr" "unknown option --horizon (did you mean --set horizon=5?)"
  faro 3 run trust-models --set epsilon=0.3,1 --dry-run
  has "$stderr" "(got 0.3,1); for a sweep: --set 'epsilon=[0.3,1]'"
  faro 3 run trust-models --set epsilon=x --dry-run
  not grep -q "for a sweep" <<<"$stderr"
}

@test "--set: the last word counts" {
  faro 0 run 000-fig1 "${tiny[@]}" --set epsilon=3 --set epsilon=4 --json --out "$T/a"
  jq -e '[.results[].epsilon] | unique == [4]' <<<"$output"
}

@test "--set refuses what the file would refuse" {
  faro 3 run 000-fig1 --set epsilno=3 --out "$T/x"
  has "$stderr" '--set: unknown key "epsilno"'
  has "$stderr" "(did you mean epsilon?)"
  faro 3 run 000-fig1 --set release=local --out "$T/x"
  has "$stderr" 'unknown key "release"'
  faro 3 run 000-fig1 --set epsilon=-1 --out "$T/x"
  [ "$stderr" = "faro: --set epsilon: epsilon must be a number from 0.0001 to 1000 (got -1)" ]
  faro 3 run 000-fig1 --set 'epsilon={a: 1}' --out "$T/x"
  has "$stderr" "(got a mapping)"
  faro 3 run 000-fig1 --set 'epsilon=[]' --out "$T/x"
  has "$stderr" "epsilon must be a list of 1 to 100 values (got an empty list)"
  faro 3 run 000-fig1 --set 'epsilon=[1, 1.0]' --out "$T/x"
  has "$stderr" "twice"
  faro 3 run 000-fig1 --set 'instances=[1, 2]' --out "$T/x"
  has "$stderr" "instances cannot be swept"
  faro 3 run 000-fig1 --set 'epsilon=[1' --out "$T/x"
  has "$stderr" "not YAML"
  faro 3 run 000-fig1 --set batch=30000 --out "$T/x"
  has "$stderr" "--set: batch must be at most the horizon, 20000 (got 30000)"
  gone "$T/x"
}

@test "--set with an empty value names the key" {
  faro 3 run 000-fig1 --set epsilon= --out "$T/x"
  has "$stderr" "--set epsilon: epsilon must be a number from 0.0001 to 1000 (got nothing)"
  gone "$T/x"
}

# ---- the command line

@test "usage errors: status 2, usage on stderr, nothing else" {
  local words
  while read -ra words; do
    faro 2 run "${words[@]}" --out "$T/x"
    has "$stderr" "usage: faro run EXPERIMENT"
    [ -z "$output" ]
    gone "$T/x"
  done <<-'END'
	000-fig1 --set epsilon
	000-fig1 --set =3
	000-fig1 --jobs 0
	000-fig1 --jobs x
	000-fig1 --jobs 2x
	000-fig1 --jobs -1
	000-fig1 --jobs 1025
	000-fig1 --jobs 99999999999999999999
	000-fig1 --jobs=
	000-fig1 --frobnicate
	000-fig1 -q
	000-fig1 --quick=yes
	000-fig1 000-fig2
	--quick
	END
  faro 2 run 000-fig1 --out
  has "$stderr" "--out needs a value"
  faro 2 run 000-fig1 --job 3
  has "$stderr" "unknown option --job (did you mean --jobs?)"
  faro 2 run 000-fig1 000-fig2
  has "$stderr" "unexpected argument 000-fig2"
  faro 2 run
  has "$stderr" "EXPERIMENT is required: a name from"
}

@test "an unknown experiment" {
  faro 3 run 000-fg1 --out "$T/x"
  has "$stderr" 'no experiment "000-fg1" (did you mean 000-fig'
  faro 3 run nothing-like-it --out "$T/x"
  [ "$stderr" = 'faro: no experiment "nothing-like-it"; `faro list experiments` lists them, and a path is allowed too' ]
  gone "$T/x"
}

@test "the nearest experiment is suggested, not the first that is near" {
  mkdir "$T/experiments"
  local letter
  for letter in a b c d e f g h i j k l m n; do : >"$T/experiments/comparison-$letter.yaml"; done
  : >"$T/experiments/comparison-zz.yaml"
  cd "$T"
  faro 3 run comparison-zzz
  has "$stderr" "(did you mean comparison-zz?)"
}

@test "an experiment from standard input" {
  run --separate-stderr "$FARO" run - "${tiny[@]}" --out "$T/a" <experiments/000-fig1.yaml
  [ "$status" -eq 0 ]
  [ "$(jq -r .experiment "$T/a/run.json")" = stdin ]
  cmp "$T/a/experiment.yaml" experiments/000-fig1.yaml
  run --separate-stderr "$FARO" run - --out "$T/c" <<<"horizon: many"
  [ "$status" -eq 3 ]
  has "$stderr" "faro: standard input:1: horizon must be"
  faro 0 run 000-fig1 "${tiny[@]}" --out "$T/b"
  same_results "$T/a" "$T/b"
}

@test "--out makes the folders on the way" {
  faro 0 run 000-fig1 "${tiny[@]}" --out "$T/a/b//c/"
  [ -s "$T/a/b/c/summary.csv" ]
}

@test "--out that cannot be" {
  : >"$T/file"
  faro 4 run 000-fig1 "${tiny[@]}" --out "$T/file"
  [ "$stderr" = "faro: $T/file: not a directory, or not writable" ]
  faro 4 run 000-fig1 "${tiny[@]}" --out "$T/file/below"
  [ "$stderr" = "faro: $T/file/below: cannot be created: Not a directory" ]
  faro 4 run 000-fig1 "${tiny[@]}" --out "$T/file/below/further"
  [ "$stderr" = "faro: $T/file/below: cannot be created: Not a directory" ]
  faro 3 run 000-fig1 "${tiny[@]}" --out ""
  [ -z "$output" ]
  [ ! -s "$T/file" ]
}

@test "--out that cannot be leaves no folders behind" {
  faro 4 run 000-fig1 "${tiny[@]}" --out "$T/new/$(head -c 300 /dev/zero | tr '\0' d)"
  has "$stderr" "File name too long"
  gone "$T/new"
}

@test "output that cannot be written is an error" {
  check_test
  [ -c /dev/full ] || skip "no /dev/full"
  local form
  for form in --quick --json --csv; do
    run bash -c '"$0" run 000-fig1 --quiet --set horizon=300 --set instances=3 "$1" --out "$2" 2>&1 >/dev/full' \
      "$FARO" "$form" "$T/a"
    [ "$status" -eq 4 ]
    [ "$output" = "faro: cannot write the output" ]
  done
}

@test "--quiet is quiet, of kept instances too" {
  journal_only "$T/a"
  faro 0 run 000-fig1 "${tiny[@]}" --out "$T/a"
  [ -z "$stderr" ]
  [ "$(jq .resumed_instances "$T/a/run.json")" -eq 39 ]
}

# ---- running sums

sums() {
  cat >"$T/sums.yaml" <<-'YAML'
	sweep: {name: [bits-random, bits-hard], horizon: [100, 1000, 20000]}
	instances: 3
	algorithms:
	  - {label: blind, learner: sum, release: none, batch: 10}
	  - {label: local, learner: sum, release: local, epsilon: 2}
	plot: {x: horizon, y: error, panels: name}
	YAML
}

@test "running sums: the worst error takes the place of the regret" {
  sums
  faro 0 run "$T/sums.yaml" --quiet --out "$T/a"
  grep -q '^ *name  horizon  algorithm  *error  ' <<<"$output"
  jq -e '.measure == "error" and .plot == {"x": "horizon", "y": "error", "panels": "name"} and (.results | length == 12 and
    all(.error.mean > 0 and .error.mean == .curve.mean[-1] and (.curve.mean | . == sort) and (has("regret") | not)))' "$T/a/run.json"
  jq -e '.results | map(select(.label == "blind")) | all(.error.mean <= 4.5)' "$T/a/run.json" # nine users unseen, half a unit each
  head -n 1 "$T/a/summary.csv" | grep -q ',error_mean,error_sd,error_se,error_low,error_high,error_q25,error_median,error_q75,'
  head -n 1 "$T/a/curves.csv" | grep -q 'round,error_mean,error_sd,error_low,error_high,error_q25,error_median,error_q75$'
  grep -q '>worst error</text>' "$T/a/sums.svg"
  not grep -rq 'regret' "$T/a"
}

@test "running sums: slopes in the table, in --json and on the page" {
  sums
  faro 0 run "$T/sums.yaml" --quiet --out "$T/a"
  has "$output" 'slope of error against horizon (log-log)'
  grep -q '^ *bits-hard  local  *0\.[0-9]* ' <<<"$output"
  grep -q 'slope of error against horizon' "$T/a/report.html"
  cp -r "$T/a" "$T/b"
  faro 0 report "$T/b" --json
  jq -e '.measure == "error" and (.slopes | map([.label, .name]) == [["blind", "bits-random"], ["local", "bits-random"],
    ["blind", "bits-hard"], ["local", "bits-hard"]] and all((.slope | type == "number") and .se >= 0))' <<<"$output"
  jq -e '.slopes[] | select(.label == "local") | .slope > 0.3 and .slope < 0.7' <<<"$output" # noise of n users: sqrt(n)
  diff -r "$T/a" "$T/b"
}

@test "a run of before there were measures is read as one of regret" {
  check_test
  faro 0 run 000-fig1 "${tiny[@]}" --out "$T/a"
  cp -r "$T/a" "$T/b"
  jq -c 'del(.measure, .slopes)' "$T/a/run.json" >"$T/b/run.json"
  faro 0 report "$T/b"
  local file
  for file in summary.csv curves.csv 000-fig1.svg report.html; do cmp "$T/a/$file" "$T/b/$file"; done
}

@test "a population that runs out of clients is told, and the results are whole" {
  cat >"$T/few.yaml" <<-'YAML'
	environment: {name: linear-population, dimension: 3, arms: 5, draw: sphere, population: 10}
	horizon: 1000
	instances: 2
	algorithms:
	  - {learner: dpe, release: central}
	YAML
  faro 0 run "$T/few.yaml" --out "$T/x" --quiet
  has "$output" "in up to 100 % of instances the population ran out of clients"
  faro 0 run "$T/few.yaml" --out "$T/y" --quiet --json
  jq -e '.results[0] | .exhausted == 1 and .rounds == 1000' <<<"$output" # jq 1.7 writes numbers as they were: 1000.0
}

@test "posterior: generalised linear rewards, linear surrogates, and rewards alone" {
  check_test
  cat >"$T/glm.yaml" <<-'YAML'
	environment: {name: glm-logistic, dimension: 3, arms: 5, contexts: fixed}
	horizon: 2000
	instances: 2
	algorithms:
	  - {label: a, learner: posterior, release: shuffle-bits}
	  - {label: b, learner: posterior, release: shuffle-bits, surrogate: true}
	  - {label: c, learner: posterior, release: none}
	YAML
  faro 0 run "$T/glm.yaml" --quiet --json --out "$T/glm"
  jq -e '[.results[].region] == ["calibrated", "misspecified", "calibrated"]' <<<"$output"
  jq -e '.results | .[0].regret.mean != .[1].regret.mean and all(.regret.tail >= 0)' <<<"$output"
  cat >"$T/open.yaml" <<-'YAML'
	environment: {name: linear-fixed, skew: 3}
	horizon: 2000
	instances: 2
	algorithms:
	  - {label: a, learner: linucb, release: local, protect: rewards}
	  - {label: b, learner: linucb, release: local}
	YAML
  faro 0 run "$T/open.yaml" --quiet --json --out "$T/open"
  jq -e '[.results[].claim | .protects, .assumes] == ["rewards", null, "all", null]' <<<"$output"
  jq -e '[.results[].region] == ["proven", "proven"]' <<<"$output"
  faro 3 run "$T/glm.yaml" --quiet --set protect=rewards --out "$T/none"
  has "$stderr" "protecting rewards only (public_arms) needs linear rewards (got logistic)"
}

@test "a claim about rewards only says so wherever it is" {
  cat >"$T/open.yaml" <<-'YAML'
	environment: {name: linear-fixed}
	horizon: 2000
	instances: 2
	algorithms:
	  - {label: a, learner: linucb, release: local, protect: rewards}
	  - {label: b, learner: linucb, release: local}
	YAML
  faro 0 run "$T/open.yaml" --quiet --out "$T/o"
  [ "$(grep -c "proven, rewards only" <<<"$output")" -eq 1 ]
  has "$output" $'\nrewards only (a): what was shown and played is not protected\n'
  [ "$(grep -c "proven, rewards only" "$T/o/table.tex")" -eq 1 ]
  has "$(cat "$T/o/open.svg")" ">a (rewards only)<"
  has "$(cat "$T/o/open.svg")" "Rewards only: what was shown and played is"
  has "$(cat "$T/o/report.html")" "any guess about one user's reward in one round by "
  has "$(cat "$T/o/report.html")" "What users were shown and what they played is not protected: it is published as it is."
  has "$(cat "$T/o/report.html")" "any guess about one round of one user by "
  [ "$(grep -c 'rewards only: arms are public","rewards",$' "$T/o/summary.csv")" -eq 1 ]
  [ "$(grep -c '","all",$' "$T/o/summary.csv")" -eq 1 ]
  faro 0 run "$T/open.yaml" --dry-run
  [ "$(grep -c "trust: local, rewards only" <<<"$output")" -eq 1 ]
  faro 0 compare "$T/o" "$T/o"
  has "$output" "first: rewards only (a): what was shown and played is not protected"
  # A run of before: its settings say it.
  jq 'del(.results[].claim.protects, .results[].claim.assumes)' "$T/o/run.json" >"$T/old.json"
  mkdir -p "$T/old" && mv "$T/old.json" "$T/old/run.json"
  faro 0 report "$T/old"
  has "$output" "rewards only (a): what was shown"
  has "$(cat "$T/old/report.html")" "any guess about one user's reward in one round by "
}

@test "compare: differences, what was set, and bad use" {
  check_test
  faro 0 run 000-fig1 "${tiny[@]}" --quiet --set epsilon=1 --out "$T/a"
  faro 0 run 000-fig1 "${tiny[@]}" --quiet --set epsilon=9 --out "$T/b"
  COLUMNS=80 faro 0 compare "$T/a" "$T/b"
  has "$output" "paired: both runs met the same instances (3 in common)"
  has "$output" "  epsilon: 1 -> 9"
  faro 0 compare "$T/a" "$T/b" "$T/a" --json
  jq -e 'length == 2 and all(.differences | length == 5 and all(.paired)) and
    (.[0].differences[] | select(.label == "LinUCB") | .difference == 0 and (.seen | not)) and
    (.[0].differences[1].settings.epsilon == [1, 9]) and (.[1].differences | all(.difference == 0))' <<<"$output"
  faro 2 compare "$T/a"
  has "$stderr" "two or more DIR are required"
  faro 3 compare "$T/a" "$T/none"
  has "$stderr" "$T/none/run.json"
}
