# faro, faro list, faro report.

load support

setup() { faro_setup; }
teardown() { faro_teardown; }

# The registry of commands.
commands=$(sed -n 's/^COMMAND(\(.*\))$/\1/p' "$BATS_TEST_DIRNAME/../../src/cli/commands.def")

# ---- faro

@test "without arguments: help on stderr, status 2" {
  faro 2
  has "$stderr" "usage: faro COMMAND"
  [ -z "$output" ]
}

@test "--help" {
  faro 0 --help
  has "$output" "usage: faro COMMAND"
  local command
  for command in $commands; do grep -q "^  $command " <<<"$output"; done
  [ -z "$stderr" ]
  local help=$output
  faro 0 help help
  [ "$output" = "$help" ]
  faro 0 help
  [ "$output" = "$help" ]
}

@test "--version" {
  faro 0 --version
  [[ $output =~ ^faro\ [0-9]+\.[0-9]+\.[0-9]+\ \(commit\ [^,]+,\ .+\)$ ]]
  [ -z "$stderr" ]
  local version=$output
  faro 0 version
  [ "$output" = "$version" ]
}

@test "an unknown command" {
  faro 2 rnu
  [ "$stderr" = 'faro: unknown command "rnu" (did you mean run?); run `faro --help` for a list' ]
  [ -z "$output" ]
  faro 2 sleep-well
  [ "$stderr" = 'faro: unknown command "sleep-well"; run `faro --help` for a list' ]
  faro 2 ''
  has "$stderr" 'unknown command ""'
}

@test "every command has --help, in lines that fit" {
  check_test
  local command
  for command in $commands; do
    faro 0 $command --help
    has "$output" "usage: faro $command"
    [ "$(tail -n +4 <<<"$output" | awk '{ if (length($0) > m) m = length($0) } END { print m }')" -le 103 ] || {
      echo "$command: $output"
      false
    }
    [ -z "$stderr" ]
    faro 0 $command --help --nonsense
  done
}

@test "every command refuses unknown options and arguments in the same words" {
  check_test
  local command words
  for command in $commands; do
    faro 2 $command --nonsense
    has "$stderr" "faro $command: unknown option --nonsense"
    has "$stderr" "usage: faro $command"
    has "$stderr" "run \`faro $command --help\` for details"
    [ -z "$output" ]
  done
  for words in "run a b" "account gaussian b" "audit local b" "list releases b" "report a b" "keys sign b" \
    "analyzer b" "shuffler b" "client b" "demo b" "ledger explain b" "completion bash b" "new a b" "rerun a b"; do
    # shellcheck disable=SC2086
    faro 2 $words
    has "$stderr" "unexpected argument b"
    [ -z "$output" ]
  done
}

# The text of a manual page, without its formatting, in one line: page NAME
page() {
  sed -e 's/\\f[BIR]//g' -e 's/\\-/-/g' -e 's/\\&//g' -e 's/\\e/\\/g' -e '/^\.PP$/d' -e '/^\.[nf][fi]$/d' \
    "$(dirname "$FARO")/man/$1.1" | tr -s ' \n' '  '
}

@test "help COMMAND, the usage in it, and a manual page with everything that it says" {
  check_test
  local command help text usage line
  for command in $commands; do
    help=$("$FARO" help "$command")
    [ "$help" = "$("$FARO" "$command" --help)" ]
    text=$(page "faro-$command")
    usage=$(sed -n -e 's/^usage: //' -e '3,/^$/p' <<<"$help" | tr -s ' \n' '  ')
    has "$text" "faro-$command - ${help%%$'\n'*}"
    has "$text" "${usage% }"
    for line in $(sed -n 's/^  \(--[a-z-]*\).*/\1/p' <<<"$help") --help; do
      has "$text" ".TP $line"
      [[ $usage == *" ..."* || $usage == *OPTIONS* || $line == --help ||
        "$usage " == *"$line"[]\)\ ]* ]] || {
        echo "$line is not in the usage: $usage"
        false
      }
    done
    # every line after the usage; a description that is written by hand may replace what comes before the options
    if grep -qs '^\.SH DESCRIPTION' "docs/man/$command.1"; then help=$(sed -n '/^  --/,$p' <<<"$help")
    else help=$(sed -e '1,3d' <<<"$help" | sed '1,/^$/d'); fi
    while IFS= read -r line; do has "$text" "$line"; done < <(sed -E -e 's/^  --[^ ]+( [^ ]+)*  +//' -e 's/`//g' \
      -e 's/^ *//' -e 's/  +/ /g' -e '/^examples:$/d' -e '/^[a-z ]+:$/d' <<<"$help")
  done
  faro 2 help rnu
  [ "$stderr" = 'faro: unknown command "rnu" (did you mean run?); run `faro --help` for a list' ]
}

@test "manual pages have a date and a version, and groff has nothing to say about them" {
  local file
  for file in "$(dirname "$FARO")"/man/*.1; do
    grep -qE '^\.TH FARO[A-Z-]* 1 "[0-9]{4}-[0-9]{2}-[0-9]{2}" "faro [0-9.]+" "User commands"$' "$file"
    if command -v groff >/dev/null; then
      [ -z "$(groff -man -ww -Tutf8 -z "$file" 2>&1)" ] || { groff -man -ww -Tutf8 -z "$file" && false; }
    fi
  done
}

@test "the overview names every command" {
  local command
  for command in $commands; do has "$(page faro)" "faro-$command (1) "; done
}

# What bash would offer for the last of these words: offered WORD...
offered() {
  COMP_WORDS=("$FARO" "$@")
  COMP_CWORD=$#
  COMPREPLY=()
  _faro
  paste -sd' ' <<<"$(printf '%s\n' "${COMPREPLY[@]}")"
}

@test "completion offers the commands, their options and their words" {
  faro 0 completion
  [ -z "$stderr" ]
  eval "$output"
  [ "$(offered '')" = "$(paste -sd' ' <<<"$commands") help version --help --version" ]
  [ "$(offered ru)" = "run" ]
  [ "$(offered le)" = "ledger" ]
  [ "$(offered help le)" = "ledger" ]
  [ "$(offered run --q)" = "--quick --quiet" ]
  [ "$(offered run trust)" = "trust-models" ]
  [ "$(offered list e)" = "environments experiments" ]
  [ "$(offered keys '')" = "sign seal tokens show --out --count --help" ]
  [ "$(offered audit local --level '')" = "event user" ]
  [ "$(offered audit --calibration t)" = "tight" ]
  [ "$(offered audit --calibration = t)" = "tight" ]
  [ "$(offered audit --shufflers l)" = "log" ]
  [ "$(offered completion '')" = "bash zsh fish --help" ]
  [ -z "$(offered run 000-fig1 --out '')" ] # a folder: bash offers its own
  [ -z "$(offered nonsense '')" ]
}

@test "completion of --set offers keys and their values" {
  eval "$("$FARO" completion bash)"
  [ "$(offered run 000-fig1 --set eps)" = "epsilon=" ]
  [ "$(offered run 000-fig1 --set env)" = "environment=" ]
  [ "$(offered run 000-fig1 --set calibration =)" = "paper figure tight" ]
  [ "$(offered run 000-fig1 --set calibration = t)" = "tight" ]
  [ "$(offered run 000-fig1 --set batch = '')" = "auto" ]
  [ "$(offered run 000-fig1 --set environment = linear-f)" = "linear-fixed" ]
  [ "$(offered run 000-fig1 --set anytime = '')" = "false true" ]
  [ -z "$(offered run 000-fig1 --set learner)" ] # only an algorithm has it
}

@test "completion scripts are what their shells can read" {
  local shell
  for shell in bash zsh fish; do
    "$FARO" completion "$shell" >"$T/script"
    if command -v "$shell" >/dev/null; then "$shell" -n "$T/script"; fi
    local command
    for command in $commands; do grep -q "\b$command\b" "$T/script"; done
    grep -q 'calibration' "$T/script"
  done
  faro 2 completion tcsh
  has "$stderr" 'unknown shell "tcsh"'
}

@test "fish completes commands, options, settings and values" {
  command -v fish >/dev/null || skip "no fish"
  "$FARO" completion fish >"$T/script"
  fish_offers() { HOME=$T fish -c "source $T/script; complete -C '$1'" | cut -f1 | paste -sd' '; }
  [ "$(fish_offers 'faro ru')" = run ]
  [ "$(fish_offers 'faro run --set calib')" = "calibration= calibration=figure calibration=paper calibration=tight" ]
  [ "$(fish_offers 'faro audit --level ')" = "event user" ]
}

@test "options: values with = and without, words in between, the last one counts" {
  faro 0 list learners --matrix
  faro 2 run --jobs=0 000-fig1
  has "$stderr" "faro run: --jobs must be a whole number from 1 to 1024 (got 0)"
  faro 2 run --jobs=0 --jobs=1 000-fig1
  faro 2 run 000-fig1 --jobs= --quick
  has "$stderr" "(got nothing)"
  faro 2 run 000-fig1 --jobs 1e3
  has "$stderr" "--jobs must be a whole number from 1 to 1024 (got 1e3)"
  faro 2 run 000-fig1 --quick=yes
  has "$stderr" "--quick takes no value"
  faro 2 run --set
  has "$stderr" "--set needs a value"
  faro 2 run --set epsilon 000-fig1
  has "$stderr" "--set must be KEY=VALUE, at most 64 times (got epsilon)"
  faro 2 run 000-fig1 --json --csv
  has "$stderr" "--json and --csv exclude each other"
  faro 2 analyzer
  has "$stderr" "--config FILE is required"
  faro 2 audit local --epsilon 0x1
  has "$stderr" "--epsilon must be a number from 0.0001 to 1000 (got 0x1)"
  faro 2 audit local --seed 18446744073709551616
  has "$stderr" "--seed must be a whole number from 0 to 2^64 - 1 (got 18446744073709551616)"
  faro 2 audit local --shufflers 51
  has "$stderr" "--shufflers must be a whole number from 1 to 50, or log (got 51)"
}

@test "every experiment that --help mentions exists" {
  local name
  faro 0 run --help
  for name in $(sed -n 's/^  faro run \([a-z0-9][^ ]*\).*/\1/p' <<<"$output"); do
    [ -e "experiments/$name.yaml" ] || { echo "no experiment $name" && false; }
  done
}

@test "output that cannot be written is an error" {
  [ -c /dev/full ] || skip "no /dev/full"
  local words
  for words in list "list learners" "list settings" "list --matrix" --help --version "run --help"; do
    # shellcheck disable=SC2016,SC2086
    run bash -c '"$0" "$@" >/dev/full' "$FARO" $words
    [ "$status" -eq 4 ] || { echo "faro $words: status $status" && false; }
  done
}

# ---- list

@test "list shows everything but the settings" {
  faro 0 list
  local words
  for words in learners: releases: environments: experiments: linucb central-tree linear-iid 000-fig1; do
    has "$output" "$words"
  done
  [ -z "$stderr" ]
}

@test "each list" {
  faro 0 list learners
  grep -q '^  linucb ' <<<"$output"
  faro 0 list releases
  local release
  for release in none central-tree shuffle-bits shuffle-amplified local; do grep -q "^  $release .*trust " <<<"$output"; done
  faro 0 list environments
  for release in linear-fixed linear-iid linear-adversarial; do grep -q "^  $release " <<<"$output"; done
  faro 0 list settings
  for release in horizon instances seed epsilon delta calibration batch failure name dimension arms reward draw learner release; do
    grep -q "^  $release " <<<"$output"
  done
  [ -z "$stderr" ]
}

@test "lists and help fit a terminal of 80 columns" {
  COLUMNS=80 "$FARO" list >"$T/list"
  COLUMNS=80 "$FARO" list settings >>"$T/list"
  COLUMNS=80 "$FARO" help run >>"$T/list"
  COLUMNS=80 "$FARO" --help >>"$T/list"
  awk 'length($0) > 80 { print; bad = 1 } END { exit bad }' "$T/list"
  COLUMNS=80 "$FARO" list learners | grep -q '^  linucb'
}

@test "list --json: every list, with the same names" {
  check_test
  local list all
  all=$("$FARO" list --json)
  jq -e 'keys == ["environments", "experiments", "learners", "releases", "settings"]' <<<"$all"
  for list in learners releases environments experiments settings; do
    [ "$(jq -r ".$list[].name" <<<"$all")" = "$("$FARO" list $list | sed -n 's/^  \([^ ]\{1,\}\).*/\1/p')" ]
  done
  [ "$("$FARO" list releases --json | jq -c .)" = "$(jq -c .releases <<<"$all")" ]
  "$FARO" list --matrix --json |
    jq -e 'any(.learner == "linucb" and .release == "none" and .calibrations == ["paper", "figure", "tight"])'
}

@test "settings: one column, and the same keys and defaults as docs/experiments.md" {
  faro 0 list settings
  awk '/^  [a-z]/ { match($0, /^  [^ ]+ +/); width[RLENGTH] } length($0) > 100 { exit 1 }
    END { exit length(width) != 1 }' <<<"$output"
  "$FARO" list settings --json | jq -r '.[] | "\(.name) \(.default)"' >"$T/settings"
  awk 'FNR == NR { preset[$1] = $2; next }
    /^\| `/ { split($0, cell, "|"); n = split(cell[2], name, "`"); for (i = 2; i <= n; i += 2) said[name[i]] = cell[4] }
    END {
      for (key in preset) {
        word = preset[key] ~ /^[a-z]/ # numbers are written in other ways there
        if (key in said && (!word || index(said[key], preset[key]) > 0)) continue
        print key ": " preset[key] " by default, which docs/experiments.md does not say"
        bad = 1
      }
      exit bad
    }' "$T/settings" docs/experiments.md
}

@test "list experiments names all that are shipped" {
  faro 0 list experiments
  local file
  for file in experiments/*.yaml; do grep -q "^  $(basename "$file" .yaml) " <<<"$output"; done
  [ "$(wc -l <<<"$output")" -eq "$(find experiments -maxdepth 1 -name '*.yaml' | wc -l)" ]
  not grep -q 'cannot be run' <<<"$output"
}

@test "list experiments says why one cannot be run" {
  mkdir "$T/experiments"
  echo 'horizon: many' >"$T/experiments/broken.yaml"
  cd "$T"
  faro 0 list experiments
  has "$output" "(cannot be run: experiments/broken.yaml:1: horizon must be"
}

@test "list --matrix: linucb and sum with every release, elimination with those of one batch, observers with none" {
  faro 0 list --matrix
  local learner release
  [[ ${lines[0]} =~ ^learner\ +release\ +calibrations$ ]]
  local learners releases
  learners=$("$FARO" list learners | awk '{print $1}')
  releases=$("$FARO" list releases | awk '{print $1}')
  for learner in linucb sum; do
    for release in $releases; do grep -Eq "^$learner +$release +[a-z]" <<<"$output"; done
  done
  for learner in $learners; do grep -Eq "^$learner +none +paper" <<<"$output"; done
  for learner in dpe pe hanna; do
    if grep -Eq "^$learner +(central-tree|central-factored|concurrent-bits) " <<<"$output"; then false; fi
    if grep -Eq "^$learner .* figure" <<<"$output"; then false; fi
    grep -Eq "^$learner +shuffle-bits +paper" <<<"$output"
  done
  for learner in glm-ucb gloc ecolog; do
    [ "$(grep -Ec "^$learner " <<<"$output")" -eq 1 ]
    grep -Eq "^$learner +none +paper figure tight$" <<<"$output"
  done
}

@test "a misspelt list, and options that are none" {
  faro 2 list lerners
  has "$stderr" 'unknown list "lerners" (did you mean learners?); expected one of: learners, releases'
  has "$stderr" "usage: faro list"
  [ -z "$output" ]
  faro 2 list xyz
  has "$stderr" 'unknown list "xyz"; expected one of: '
  faro 2 list --matrx
  has "$stderr" "unknown option --matrx (did you mean --matrix?)"
}

# ---- report

# A finished run in $T/a, and a copy of it in $T/b.
finished() {
  faro 0 run 000-fig1 "${tiny[@]}" --out "$T/a" "$@"
  printf '%s\n' "$output" >"$T/output"
  cp -r "$T/a" "$T/b"
}

@test "report draws everything again, to the same bytes" {
  finished
  rm "$T/a/report.html" "$T/a/summary.csv" "$T/a/curves.csv" "$T/a/000-fig1.svg"
  faro 0 report "$T/a"
  [ -z "$stderr" ]
  printf '%s\n' "$output" | cmp - "$T/output"
  diff -rq "$T/a" "$T/b"
  faro 0 report "$T/a"
  diff -rq "$T/a" "$T/b"
}

@test "report --json prints what run --json printed" {
  finished --json
  faro 0 report "$T/a" --json
  printf '%s\n' "$output" | cmp - "$T/output"
}

@test "report of a run without a sweep, and of one over three keys" {
  check_test
  finished --set epsilon=1
  faro 0 report "$T/a"
  diff -rq "$T/a" "$T/b"
  rm -r "$T/a" "$T/b"
  finished --set 'delta=[0.1, 0.01]' --set 'reward=[bernoulli, uniform]' --set 'epsilon=[1, 2]'
  faro 0 report "$T/a"
  diff -rq "$T/a" "$T/b"
}

@test "report without a directory, of two, and of what is none" {
  faro 2 report
  has "$stderr" "DIR is required: the directory of a finished run"
  faro 2 report a b
  has "$stderr" "unexpected argument b"
  faro 2 report a --jason
  has "$stderr" "unknown option --jason (did you mean --json?)"
  faro 3 report "$T/nowhere"
  has "$stderr" "faro: $T/nowhere/run.json: cannot be read: No such file or directory"
  gone "$T/nowhere"
  mkdir "$T/empty"
  faro 3 report "$T/empty"
  [ -z "$(ls -A "$T/empty")" ]
  mkdir -p "$T/odd/run.json"
  faro 3 report "$T/odd"
  : >"$T/file"
  faro 3 report "$T/file"
}

# run.json as the filter makes it is refused, and nothing else is touched: refused FILTER
refused() {
  jq -c "$1" "$T/b/run.json" >"$T/a/run.json"
  faro 3 report "$T/a"
  [ -z "$output" ]
  [[ $stderr == "faro: $T/a/run.json:"* ]]
  [ "$(wc -l <<<"$stderr")" -eq 1 ]
  cp "$T/b/run.json" "$T/a/run.json"
  diff -rq "$T/a" "$T/b"
}

@test "a broken run.json is refused" {
  finished
  local size text
  size=$(stat -c %s "$T/b/run.json")
  for text in 0 1 100 $((size / 2)) $((size - 2)); do
    head -c "$text" "$T/b/run.json" >"$T/a/run.json"
    faro 3 report "$T/a"
    has "$stderr" "faro: $T/a/run.json:"
  done
  for text in 'null' '3' '[]' '{}' '{"results": [NaN]}' '{"experiment": "a", "experiment": "b"}' $'\xff\xfe' \
    '{"results": [{}], "sweep": [[]]}'; do
    printf '%s' "$text" >"$T/a/run.json"
    faro 3 report "$T/a"
    has "$stderr" "faro: $T/a/run.json:"
  done
  head -c 100000 /dev/zero | tr '\0' '[' >"$T/a/run.json"
  faro 3 report "$T/a"
  cp "$T/b/run.json" "$T/a/run.json"
  diff -rq "$T/a" "$T/b"
}

@test "a run.json of the wrong types is refused" {
  slow_test
  finished
  local filter
  for filter in '.results = {}' '.results = []' '.results = "none"' '.results[3] = null' '.results[0].label = 3' \
    '.results[0].regret = 5' '.results[0].regret.mean = "low"' '.results[0].regret.mean = null' \
    '.results[0].curve = null' '.results[0].curve.mean = [1]' '.results[0].curve.round = []' \
    '.results[0].curve.mean[7] = "x"' '.results[0].claim = null' '.results[0].claim.by = 3' '.results[0].claim.protects = 3' \
    '.results[0].claim.protects = "arms"' '.results[0].claim.assumes = 3' 'del(.results[14].trust, .results[14].claim)' \
    '.results[0].epsilon = null' '.sweep = [1]' '.sweep = ["a", "b", "c", "d"]' '.sweep = ["nothing"]' \
    '.experiment = null' '.experiment = "../elsewhere"' '.title = []' '.faro = "0.1"' '.results[0].settings = null' '.results[0].settings.batch = "many"'; do
    echo "$filter"
    refused "$filter"
  done
  gone "$T/elsewhere.svg"
}

@test "a run.json with other things where numbers belong is refused" {
  check_test
  finished
  local filter
  for filter in '.results[0].rounds = "many"' '.results[0].rounds = null' '.instances = "three"' '.instances = -1' \
    '.seed = "one"' '.sweep = "epsilon"' '.results[0].updates = "x"' '.results[0].seconds = null'; do
    echo "$filter"
    refused "$filter"
  done
}

@test "an experiment's name that makes no file name is refused" {
  check_test
  finished
  local filter
  for filter in '.experiment = ""' '.experiment = "a\n"' '.experiment = "/tmp/x"' '.experiment = ".."'; do
    echo "$filter"
    refused "$filter"
  done
}
