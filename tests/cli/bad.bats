# Wrong experiment files: exit status 3, one line on stderr, nothing on stdout, nothing written.
# bad/NAME.yaml goes with bad/NAME.expected, in which "..." stands for any text: for what another file tests. The
# registries and the keys of each place are listed in full in one file each, bad/unknown-*.expected.
# FARO_BLESS=1 writes the files anew that do not match, for a person to read.

load support

setup() { faro_setup; }
teardown() { faro_teardown; }

@test "the golden directory has its files" {
  local yaml=(tests/cli/bad/*.yaml) expected=(tests/cli/bad/*.expected)
  [ "${#yaml[@]}" -ge 25 ]
  [ "${#yaml[@]}" -eq "${#expected[@]}" ]
}

# EXPECTED with every line that matches replaced by the line of GOT, so that a diff shows the others only:
# fill EXPECTED GOT
fill() {
  local want got pattern
  while IFS= read -r want <&4; do
    IFS= read -r got <&5 || got=
    pattern=$(sed -e 's/[].[\*^$]/\\&/g' -e 's/\\\.\\\.\\\./.*/g' <<<"$want")
    if LC_ALL=C grep -qx -e "$pattern" <<<"$got"; then echo "$got"; else echo "$want"; fi
  done 4<"$1" 5<"$2"
}

# GOT says what is EXPECTED, or else the difference is shown: matches EXPECTED GOT
matches() {
  diff -u --label expected --label got <(fill "$1" "$2") "$2"
}

@test "a golden file matches its text and no other" {
  local want=$T/want got=$T/got line
  printf 'a [b] (got 1.5*); use ... only\nend\n' >"$want"
  for line in 'a [b] (got 1.5*); use x, y only' 'a [b] (got 1.5*); use  only'; do
    printf '%s\nend\n' "$line" >"$got"
    matches "$want" "$got"
  done
  for line in 'a [b] (got 1.5*); use x' 'a b (got 1.5*); use x only' 'a [b] (got 1x5*); use x only' \
    'a [b] (got 1.55); use x only' '- a [b] (got 1.5*); use x only' ''; do
    printf '%s\nend\n' "$line" >"$got"
    not matches "$want" "$got"
  done
  printf 'a [b] (got 1.5*); use x only\n' >"$got"
  not matches "$want" "$got"
  printf 'a [b] (got 1.5*); use x only\nend\nmore\n' >"$got"
  run matches "$want" "$got"
  [ "$status" -eq 1 ]
  has "$output" "+more"
  not has "$output" "-a [b]"
}

@test "every wrong experiment is refused in its own words" {
  check_test
  local file name got expected faults=0
  for file in tests/cli/bad/*.yaml; do
    name=$(basename "$file" .yaml)
    expected=tests/cli/bad/$name.expected
    got=0
    "$FARO" run "$file" --out "$T/x" >"$T/stdout" 2>"$T/stderr" || got=$?
    if [ -n "${FARO_BLESS:-}" ] && ! matches "$expected" "$T/stderr"; then cp "$T/stderr" "$expected"; fi
    if [ "$got" -ne 3 ]; then echo "$name: status $got, not 3" && faults=$((faults + 1)); fi
    if [ -s "$T/stdout" ]; then echo "$name: output on stdout" && faults=$((faults + 1)); fi
    if [ -e "$T/x" ]; then echo "$name: made the output directory" && faults=$((faults + 1)) && rm -r "$T/x"; fi
    if ! matches "$expected" "$T/stderr"; then faults=$((faults + 1)); fi
  done
  echo "$faults faults"
  [ "$faults" -eq 0 ]
}

@test "every message is one line that names the file" {
  check_test
  local file name
  for file in tests/cli/bad/*.expected; do
    name=$(basename "$file" .expected)
    [ "$(wc -l <"$file")" -eq 1 ] || { echo "$name: not one line" && false; }
    grep -q "^faro: tests/cli/bad/$name.yaml:" "$file" || { echo "$name: the file is not named" && false; }
    if grep -q "[[:cntrl:]]" "$file"; then echo "$name: control characters" && false; fi
  done
}

@test "the registries and the keys are listed in full once" {
  local list file
  for list in learners releases environments; do
    faro 0 list "$list"
    has "$(cat "tests/cli/bad/unknown-${list%s}.expected")" \
      "one of $(awk 'NF {print $1}' <<<"$output" | paste -sd, | sed 's/,/, /g') (got "
  done
  for file in tests/cli/bad/*.expected; do
    case $file in
    */unknown-*) not grep -F ... "$file" ;;
    *) not grep 'allowed: [^.]' "$file" ;;
    esac
  done
}

@test "a missing file" {
  faro 3 run "$T/none.yaml" --out "$T/x"
  [ "$stderr" = "faro: $T/none.yaml: cannot be read: No such file or directory" ]
  [ -z "$output" ]
  gone "$T/x"
}

@test "a directory in place of a file" {
  mkdir "$T/folder.yaml"
  faro 3 run "$T/folder.yaml" --out "$T/x"
  [ "$stderr" = "faro: $T/folder.yaml: cannot be read: Is a directory" ]
  [ -z "$output" ]
  gone "$T/x"
}

@test "a file of more than 1 MiB, and one of just that" {
  head -c 1048577 /dev/zero | tr '\0' '#' >"$T/big.yaml"
  faro 3 run "$T/big.yaml" --out "$T/x"
  [ "$stderr" = "faro: $T/big.yaml: too large: at most 1048576 bytes are allowed" ]
  gone "$T/x"
  { cat experiments/000-fig1.yaml && head -c 1048576 /dev/zero | tr '\0' '#'; } | head -c 1048576 >"$T/full.yaml"
  faro 0 run "$T/full.yaml" --out "$T/x" "${tiny[@]}"
}

@test "an anchor used twice is no fault" {
  cat >"$T/anchor.yaml" <<-'YAML'
	environment: {name: linear-fixed, dimension: 3, arms: 5}
	horizon: &n 100
	batch: *n
	algorithms:
	  - {learner: linucb, release: none}
	YAML
  faro 0 run "$T/anchor.yaml" --out "$T/x" --quiet --set instances=2 --json
  [ "$(jq -c '.results[0] | [.rounds, .settings.batch, .label]' <<<"$output")" = '[100,100,"linucb/none"]' ]
}

@test "a second document in the file is refused, not passed over" {
  { cat experiments/000-fig1.yaml && printf -- '---\nhorizon: nonsense\n'; } >"$T/two.yaml"
  faro 3 run "$T/two.yaml" --out "$T/x" "${tiny[@]}"
  has "$stderr" "$T/two.yaml:"
  gone "$T/x"
}

@test "values and keys come back in messages without their control characters" {
  printf 'horizon: "1\\e[31m\\nfaro: done"\n' >"$T/value.yaml"
  printf '"a\\e[31m\\nb": 3\n' >"$T/key.yaml"
  printf 'sweep: "a\\e[31m\\nb"\n' >"$T/mapping.yaml"
  local name
  for name in value key mapping; do
    faro 3 run "$T/$name.yaml" --out "$T/x"
    [ "$(wc -l <<<"$stderr")" -eq 1 ]
    if grep -q "[[:cntrl:]]" <<<"$stderr"; then cat -v <<<"$stderr" && false; fi
  done
}

@test "a long value is cut short, and the message still ends" {
  printf 'sweep: %s\n' "$(head -c 900 /dev/zero | tr '\0' 'x')" >"$T/long.yaml"
  faro 3 run "$T/long.yaml" --out "$T/x"
  [[ $stderr == *")" ]]
}

@test "a long path leaves room for the reason" {
  local long
  long=$T/$(head -c 200 /dev/zero | tr '\0' d)/$(head -c 200 /dev/zero | tr '\0' e)/$(head -c 200 /dev/zero | tr '\0' f).yaml
  faro 3 run "$long" --out "$T/x"
  has "$stderr" "No such file or directory"
}

@test "a file whose name is not UTF-8 is refused at once or run to the end" {
  local file=$T/$'caf\xe9.yaml'
  cp experiments/000-fig1.yaml "$file"
  run "$FARO" run "$file" --out "$T/x" "${tiny[@]}"
  if [ "$status" -eq 3 ]; then gone "$T/x"; else [ "$status" -eq 0 ]; fi
}
