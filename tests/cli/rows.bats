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
