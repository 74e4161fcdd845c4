# People from files: what is wrong with a file is said with its line and column, and what is right is the same however it
# is run. bad-rows/NAME.csv (or .svm, .txt) goes with NAME.expected, and with the lines of NAME.set as --set; without it,
# the label is y. FARO_BLESS=1 writes the expected messages anew, for a person to read.

load support

setup() {
  faro_setup
  cat >"$T/plain.yaml" <<'YAML'
instances: 2
environment: {name: rows}
algorithms: [{learner: greedy, release: central-factored}, {learner: posterior, release: none}]
YAML
}
teardown() { faro_teardown; }

# The settings of a case, as arguments: settings NAME
settings() {
  local line
  sets=()
  if [ ! -e "tests/cli/bad-rows/$1.set" ]; then
    sets=(--set label=y)
    return
  fi
  while IFS= read -r line; do sets+=(--set "$line"); done <"tests/cli/bad-rows/$1.set"
}

@test "every wrong file is refused with its line, its column and what is allowed" {
  check_test
  local file name got expected faults=0 cases=0
  for file in tests/cli/bad-rows/*.csv tests/cli/bad-rows/*.svm tests/cli/bad-rows/*.txt; do
    name=$(basename "${file%.*}")
    expected=tests/cli/bad-rows/$name.expected
    settings "$name"
    got=0
    "$FARO" run "$T/plain.yaml" --set "file=$file" "${sets[@]}" --out "$T/x" >"$T/stdout" 2>"$T/stderr" || got=$?
    sed -i "s|$T/||" "$T/stderr"
    if [ -n "${FARO_BLESS:-}" ]; then cp "$T/stderr" "$expected"; fi
    if [ "$got" -ne 3 ] || [ -s "$T/stdout" ] || [ -e "$T/x" ]; then echo "$name: status $got" && faults=$((faults + 1)); fi
    if ! diff -u --label "$name, expected" --label got "$expected" "$T/stderr"; then faults=$((faults + 1)); fi
    cases=$((cases + 1))
  done
  echo "$faults faults in $cases cases"
  [ "$faults" -eq 0 ]
  [ "$cases" -ge 30 ]
  [ "$cases" -eq "$(ls tests/cli/bad-rows/*.expected | wc -l)" ]
}

@test "every message is one line, and faults of a row name the file and the line" {
  local file
  for file in tests/cli/bad-rows/*.expected; do
    [ "$(wc -l <"$file")" -eq 1 ] || { echo "$file: not one line" && false; }
    if grep -q "[[:cntrl:]]" "$file"; then echo "$file: control characters" && false; fi
    grep -Eq "^faro: (tests/cli/bad-rows/[a-z0-9-]*\.(csv|svm|txt):|plain.yaml:|--set: )" "$file" || { echo "$file: no place" && false; }
  done
}

# The example of the documents, smaller: people FILE
people() {
  cat >"$T/people.yaml" <<'YAML'
instances: 3
environment: {name: rows, file: people.csv, label: class, words: city, components: 4}
sweep: {epsilon: [1, 10]}
plot: {x: epsilon, y: error-rate}
algorithms: [{learner: greedy, release: none}, {learner: posterior, release: central-factored}, {learner: lints, release: local}]
YAML
  cp tests/data/people.csv "$T/people.csv"
}

@test "results are the same bytes for any number of threads, kept in memory or not, and are found beside the experiment" {
  people
  faro 0 run "$T/people.yaml" --quiet --jobs 1 --out "$T/one"
  faro 0 run "$T/people.yaml" --quiet --jobs 4 --out "$T/four"
  cmp "$T/one/summary.csv" "$T/four/summary.csv"
  cmp "$T/one/curves.csv" "$T/four/curves.csv"
  faro 0 run "$T/people.yaml" --quiet --jobs 1 --set memory=0 --out "$T/read"
  faro 0 run "$T/people.yaml" --quiet --jobs 4 --set memory=0 --out "$T/again"
  cmp "$T/read/summary.csv" "$T/again/summary.csv"
}

@test "every output names the measure, the yardsticks and the settings" {
  people
  faro 0 run "$T/people.yaml" --quiet --out "$T/o"
  has "$output" "error-rate"
  has "$output" "mean reward"
  has "$output" "linear regret"
  has "$output" "uniform play would have an error rate of 0.667; the most frequent class 0."
  has "$output" "the linear policy fitted to the whole file 0."
  [ "$(jq -r '.measure' "$T/o/run.json")" = error-rate ]
  [ "$(jq -r '.results[0].settings | .file, .label, .words' "$T/o/run.json" | paste -sd,)" = "$T/people.csv,class,city" ]
  [ "$(jq '[.results[] | .["error-rate"].mean, .mean_reward, .linear_regret, .uniform.mean, .fixed.mean | numbers] | length' "$T/o/run.json")" -eq 30 ]
  has "$(head -1 "$T/o/summary.csv")" ",error-rate_mean,"
  has "$(head -1 "$T/o/summary.csv")" ",mean_reward,linear_error,linear_regret,passed_over,"
  has "$(cat "$T/o/table.tex")" "error-rate"
  has "$(cat "$T/o/people.svg")" "error rate in the last tenth"
  has "$(cat "$T/o/report.html")" "the share of people for whom a wrong class was picked"
  faro 0 run "$T/people.yaml" --quiet --json --out "$T/j"
  [ "$(jq '.results | length' <<<"$output")" -eq 6 ]
  faro 0 compare "$T/o" "$T/j"
  has "$output" "error-rate"
  faro 0 rerun "$T/o" --quiet --out "$T/r"
  has "$output" "the same, byte for byte"
}

@test "scaling by public ranges is said wherever a claim is" {
  people
  faro 0 run "$T/people.yaml" --quiet --set scaling=public --out "$T/o"
  has "$output"$'\n' $'\nassumes that the columns\' ranges are public\n' # below the table
  [ "$(jq '[.results[].claim.assumes | select(. == "the columns'"'"' ranges are public")] | length' "$T/o/run.json")" -eq 4 ]
  has "$(cat "$T/o/people.svg")" "Assumed: the columns' ranges"
  has "$(cat "$T/o/report.html")" "Assumed: the columns' ranges are public."
  faro 0 compare "$T/o" "$T/o"
  has "$output" "second: assumes that the columns' ranges are public"
  has "$(cat "$T/o/report.html")" "ranges are public"
  [ "$(grep -c "\"all\",\"the columns' ranges are public\"$" "$T/o/summary.csv")" -eq 4 ]
  [ "$(grep -c "proven, assumes that the columns' ranges are public" "$T/o/table.tex")" -eq 4 ]
  faro 0 run "$T/people.yaml" --set scaling=public --dry-run
  has "$output" "ranges are public"
  faro 0 run "$T/people.yaml" --dry-run
  not has "$output" "ranges are public"
}

@test "a run of other data is not continued" {
  people
  faro 0 run "$T/people.yaml" --quiet --out "$T/o"
  mv "$T/people.csv" "$T/moved.csv"
  faro 0 run "$T/people.yaml" --quiet --set "file=$T/moved.csv" --out "$T/o" # the same data elsewhere
  mv "$T/moved.csv" "$T/people.csv"
  sed -i '2s/^[^,]*/0.99/' "$T/people.csv"
  faro 3 run "$T/people.yaml" --quiet --out "$T/o"
  has "$stderr" "holds the results of another experiment or of other settings"
}

@test "people who come again need user level, and then pass the gate" {
  people
  faro 3 run "$T/people.yaml" --quiet --set horizon=300 --out "$T/o"
  has "$stderr" "level must be user: horizon is 300 and the file has 120 rows"
  faro 0 run "$T/people.yaml" --quiet --set horizon=300 --set level=user --set contributions=2 --set batch=10 --out "$T/o"
  has "$output" "user level (2 rounds)"
  [ "$(jq '[.results[] | select(.release != "none") | .refused > 0] | all' "$T/o/run.json")" = true ]
  sed 's/$/,p/; 1s/,p$/,who/; 5s/p$/q/' tests/data/people.csv >"$T/people.csv"
  faro 3 run "$T/people.yaml" --quiet --set person=who --out "$T/p"
  has "$stderr" "level must be user: one person has 119 rows"
  awk -F, 'NR == 1 {print $0 ",who"} NR > 1 {print $0 ",p" NR}' tests/data/people.csv >"$T/people.csv"
  faro 0 run "$T/people.yaml" --quiet --set person=who --out "$T/p"
}

# 3000 rows of 40 people: who FILE
who() {
  awk 'function u() { x = (x * 16807) % 2147483647; return x / 2147483647 }
    BEGIN { x = 1; print "who,a,y"; for (i = 0; i < 3000; i++) { a = 2 * u() - 1; printf "p%d,%.3f,%d\n", int(40 * u()), a, (a > 0) } }' >"$1"
}

@test "batches that are chosen can be filled by the people of a file, and others are refused" {
  check_test
  who "$T/who.csv"
  local plain=(run "$T/plain.yaml" --set "file=$T/who.csv" --set label=y --set person=who --set level=user --set contributions=8)
  faro 0 "${plain[@]}" --quiet --out "$T/o"
  [ "$(jq '.results[0] | .settings.batch <= 20 and .updates >= 8' "$T/o/run.json")" = true ]
  faro 0 verify "$T/o"
  sed -i 's/central-factored/shuffle-bits/' "$T/plain.yaml"
  faro 0 "${plain[@]}" --quiet --out "$T/s"
  [ "$(jq '.results[0].updates >= 8' "$T/s/run.json")" = true ]
  faro 0 "${plain[@]}" --dry-run --set batch=40
  faro 3 "${plain[@]}" --dry-run --set batch=41
  has "$stderr" "batch must be at most 40: a person is in a batch once, and the file has 40 people, so that a larger one is never full"
  faro 3 "${plain[@]}" --dry-run --set batch=10 --set growth=2
  has "$stderr" "largest must be at most 40 where batches grow: a person is in a batch once"
  faro 0 "${plain[@]}" --dry-run --set batch=10 --set growth=2 --set largest=40
}

@test "who is not clearly better than the most frequent class is said, on the page as well" {
  awk 'function u() { x = (x * 16807) % 2147483647; return x / 2147483647 }
    BEGIN { x = 1; print "a,y"; for (i = 0; i < 2000; i++) printf "%.3f,%d\n", 2 * u() - 1, (u() < 0.1) }' >"$T/rare.csv"
  printf 'instances: 3\nenvironment: {name: rows, file: rare.csv, label: y}\nalgorithms: [{learner: greedy, release: none, label: <mine>}, {learner: uniform, release: none}]\n' >"$T/rare.yaml"
  faro 0 run "$T/rare.yaml" --quiet --out "$T/o"
  has "$output" $'\nnot clearly better than always naming the most frequent class: <mine>\n'
  has "$(cat "$T/o/report.html")" "<p>not clearly better than always naming the most frequent class: &lt;mine&gt;.</p>"
  has "$(cat "$T/o/report.html")" "<p>uniform play would have an error rate of 0.500; the most frequent class 0."
  # 0 % is the most frequent class, not uniform play
  csv_rows "$T/o/summary.csv" | jq -s -e '.[0] as $head | .[1:] | map([$head, .] | transpose | map({(.[0]): .[1]}) | add) |
    length == 2 and all((.learnt - (1 - ."error-rate_mean" / .fixed) | fabs) < 1e-12 and .fixed < 0.2) and .[1].learnt < -3'
  who "$T/rare.csv" # there is something to learn
  faro 0 run "$T/rare.yaml" --quiet --set ignore=who --out "$T/p"
  not has "$output" "better than always"
  # the two reference lines are at about 0.5: one name is above its line, and the other below
  local y
  y=($(grep -E ">(uniform play|most frequent class)</text>" "$T/p/rare.svg" | sed 's/.* y="\([0-9]*\).*/\1/'))
  echo "names at ${y[*]}"
  [ "${#y[@]}" -eq 2 ]
  [ $((y[0] > y[1] ? y[0] - y[1] : y[1] - y[0])) -ge 10 ]
}

@test "the file, its columns and what is odd about them are said under the table and on the page" {
  awk 'BEGIN { print "y,a,b,c,d,e"; for (i = 0; i < 2000; i++) printf "%s,%d,1,1,1,%d\n", i == 7 ? "\"<ham> \"" : i % 2 ? "spam" : "ham", i % 9, i % 2 }' >"$T/odd.csv"
  printf 'instances: 3\nenvironment: {name: rows, file: odd.csv, label: y, components: 4}\nalgorithms: [{learner: greedy, release: none}]\n' >"$T/odd.yaml"
  faro 0 run "$T/odd.yaml" --quiet --set scaling=declared --set ranges=0..8 --out "$T/o"
  has "$output" $'\n4 features of 5 columns: each feature sees one column, also without privacy and in the linear policy; components: 5 uses more\n'
  has "$output" $'\nclass "<ham> " has 1 row\n'
  not has "$output" "declared ranges"
  local page
  page=$(cat "$T/o/report.html")
  has "$page" "People are 2000 rows of $T/odd.csv; label: y (&lt;ham&gt; , ham, spam); 5 feature columns: a, b, c, d, e.</p>"
  has "$page" "<p>4 features of 5 columns: "
  has "$page" '<p>class "&lt;ham&gt; " has 1 row.</p>'
  faro 0 run "$T/odd.yaml" --quiet --set components=5 --set scaling=declared --set ranges=0..7 --out "$T/p"
  not has "$output" "features of"
  has "$output" $'\n1 column has numbers beyond the declared ranges, which are clipped to them\n'
}

@test "what a file says cannot be set, and texts cannot be swept" {
  people
  faro 3 run "$T/people.yaml" --set arms=7 --out "$T/o"
  has "$stderr" "arms must be left out for rows: the file says it"
  faro 3 run "$T/people.yaml" --set dimension=7 --out "$T/o"
  has "$stderr" "dimension must be left out for rows with layout block"
  faro 0 run "$T/people.yaml" --quiet --set layout=shared --set dimension=7 --out "$T/o"
  printf 'sweep: {file: [a.csv, b.csv]}\n' >>"$T/plain.yaml"
  faro 3 run "$T/plain.yaml" --out "$T/x"
  has "$stderr" "a text cannot be swept"
}

@test "logged data is replayed, and all rewards give a loss" {
  awk 'BEGIN {print "act,gain,p,x"; for (i = 0; i < 400; i++) printf "%s,%d,0.5,%d\n", i % 2 ? "a" : "b", i % 3 == 0, i % 5}' >"$T/log.csv"
  faro 0 run "$T/plain.yaml" --quiet --set "file=$T/log.csv" --set action=act --set logged_reward=gain --set propensity=p --out "$T/o"
  has "$output" "loss"
  has "$output" "assumes that it is public which rows a replay uses"
  has "$output" "uniform play would have a loss of 0.665; the log itself 0.665" # 134 of 400 rewards are 1
  has "$(cat "$T/o/report.html")" "uniform play would have a loss of 0.665; the log itself 0.665"
  [ "$(jq '.results[0] | .logged_loss == 0.665 and .uniform.mean == 0.665' "$T/o/run.json")" = true ]
  [ "$(jq '.results[0].passed_over > 0.4 and .results[0].linear_regret == null' "$T/o/run.json")" = true ]
  faro 3 run "$T/plain.yaml" --set "file=$T/log.csv" --set action=act --set logged_reward=gain --set propensity=p --set horizon=300 --out "$T/p"
  has "$stderr" "horizon must be at most 160 (got 300)"
  awk 'BEGIN {print "r1,r2,x"; for (i = 0; i < 100; i++) printf "%d,%d,%d\n", i % 6, 5 - i % 6, i % 7}' >"$T/wide.csv"
  faro 0 run "$T/plain.yaml" --quiet --set "file=$T/wide.csv" --set 'rewards=[r1, r2]' --set reward_high=5 --out "$T/w"
  [ "$(jq -r '.measure' "$T/w/run.json")" = loss ]
}

@test "a file larger than the memory it may take is streamed in flat memory" {
  slow_test
  run python3 bench/rows 30 120
  echo "$output"
  [ "$status" -eq 0 ]
}
