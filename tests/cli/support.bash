# What the tests of the command share. FARO names the program; ctest sets it.
bats_require_minimum_version 1.5.0

# Tests run in the repository's root, with an absolute path to the program.
faro_setup() {
  cd "$BATS_TEST_DIRNAME/../.." || return 1
  FARO=$(realpath "${FARO:-build/faro}")
  T=$BATS_TEST_TMPDIR
  started=()
}

# Skips a test unless FARO_SLOW_TESTS is set: `make test` leaves it out, `make check-all` runs it.
slow_test() { [ -n "${FARO_SLOW_TESTS:-}" ] || skip "slow"; }

# The same unless FARO_CHECK_TESTS is set, too: `make check-all` runs it, also under the sanitizers.
check_test() { [ -n "${FARO_CHECK_TESTS:-}" ] || slow_test; }

# Ends what a failed test has left running. A process that has been waited for is no job any more: its number may be another's by now.
faro_teardown() {
  local pid left
  left=" $(jobs -pr | tr '\n' ' ')$(jobs -ps | tr '\n' ' ')"
  for pid in "${started[@]}"; do
    [[ $left == *" $pid "* ]] || continue
    kill -KILL "$pid" 2>/dev/null && wait "$pid" || true
  done
}

# run faro, output and stderr apart, and demand an exit status: faro STATUS ARGUMENT...
faro() {
  local want=$1
  shift
  run --separate-stderr "$FARO" "$@"
  if [ "$status" -ne "$want" ]; then
    echo "status $status, not $want, of: faro $*"
    echo "stdout: $output"
    echo "stderr: $stderr"
    return 1
  fi
}

# The text holds the words, as they are: has TEXT WORDS
has() {
  [[ $1 == *"$2"* ]] || {
    echo "\"$2\" is not in: $1"
    return 1
  }
}

# The command fails (a plain `! command` would pass unseen): not COMMAND...
not() { ! "$@"; }

# Nothing at the path: gone PATH
gone() {
  [ ! -e "$1" ] || {
    echo "$1 exists"
    return 1
  }
}

# Tiny experiments: seconds even under sanitizers.
tiny=(--quiet --set horizon=300 --set instances=3)

# A run in the background, one at a time: start DIR ARGUMENT...; sets pid
start() {
  local dir=$1
  shift
  mkdir -p "$dir"
  "$FARO" run 000-fig1 --out "$dir" "$@" >"$dir.stdout" 2>"$dir.stderr" 3>&- &
  pid=$!
  started+=("$pid")
}

# Waits, up to two minutes, for the journal in DIR to pass some bytes while pid is alive: grown DIR BYTES
grown() {
  local i size
  for ((i = 0; i < 6000; i++)); do
    size=$(stat -c %s "$1/instances.journal" 2>/dev/null || echo 0)
    [ "$size" -gt "$2" ] && return 0
    kill -0 "$pid" 2>/dev/null || return 1
    sleep 0.02
  done
  return 1
}

# The exit status of pid, in `ended`.
finish() {
  ended=0
  wait "$pid" || ended=$?
  started=() # the pid may be another's from now on
}

# A CSV file as JSON, a line an array (texts here hold neither ",," nor quotes).
csv_rows() {
  sed -e '1s/[^,]*/"&"/g' -e ':a' -e 's/,,/,null,/' -e 'ta' -e 's/,$/,null/' -e 's/.*/[&]/' "$1" | jq -c .
}
