# The scripts of bench/, with little work: they run, and what they print can be read. Nothing here depends on a time.

load support

setup() {
  faro_setup
  check_test
  programs=$(dirname "$FARO")/benchmarks
  [ -x "$programs/bench_play" ] || skip "built without bench/"
  printf 'environment: {name: linear-fixed, dimension: 4, arms: 20}\nhorizon: 400\ninstances: 10\nepsilon: 10\ndelta: 0.1\ncalibration: figure\nalgorithms:\n' >"$T/small.yaml"
  for pair in none:1 local:1 central-tree:1 shuffle-amplified:20 shuffle-bits:20; do
    echo "  - {label: $pair, learner: linucb, release: ${pair%:*}, batch: ${pair#*:}}" >>"$T/small.yaml"
  done
}
teardown() { faro_teardown; }

@test "a line for each algorithm, of all its rounds or of those within the limit" {
  run -0 "$programs/bench_play" 0 <"$T/small.yaml"
  echo "$output"
  [ "$(jq -s 'length' <<<"$output")" = 5 ]
  jq -se 'all(.[]; .whole and .rounds == 400 and .ns > 0 and .peak_kib > 0 and (.regrets | length) == 10)' <<<"$output"
  run -0 bash -c "sed 's/horizon: 400/horizon: 100000000/; s/instances: 10/instances: 1/' $T/small.yaml | $programs/bench_play 0 0.001"
  jq -se 'all(.[]; (.whole | not) and .rounds < 100000000 and .ns > 0)' <<<"$output"
}

# Fixed seeds, so that nothing here is by chance; ten pairs, nine standard errors: each kind of processor
# has last digits of its own, and so instances of its own.
@test "faro, the textbook and NumPy have the same regret on the same instances" {
  "$programs/bench_play" 0 <"$T/small.yaml" >"$T/ours"
  "$programs/bench_textbook" 1 "$T/instances" <"$T/small.yaml" >"$T/textbook"
  words="none:1:user local:1:user central-tree:1:user shuffle-amplified:20:user shuffle-bits:20:user"
  if /usr/bin/python3 -c 'import numpy' 2>/dev/null; then
    bench/numpy_linucb.py "$T/instances" 400 10 0.1 $words >"$T/numpy-user"
    bench/numpy_linucb.py "$T/instances" 400 10 0.1 ${words//user/batch} >"$T/numpy-batch"
  fi
  for theirs in textbook numpy-user numpy-batch; do
    [ -e "$T/$theirs" ] || continue
    jq -s '[.[].regrets] | add' "$T/ours" >"$T/a"
    jq -s '[.[].regrets] | add' "$T/$theirs" >"$T/b"
    run -0 jq -n --slurpfile a "$T/a" --slurpfile b "$T/b" '[range(5) as $r | [range(10) as $i | $b[0][10 * $r + $i] - $a[0][10 * $r + $i]] |
      (add / 10) as $mean | (map((. - $mean) * (. - $mean)) | add / 90 | sqrt) as $error | {mean: $mean, error: $error}]'
    echo "$theirs $output"
    jq -e 'all(.[]; .error > 0 and (.mean | fabs) < 9 * .error)' <<<"$output"
  done
}

@test "growth and experiments print a line for what they play" {
  run -0 bench/growth --quick --axis d --only linucb,local "$programs/bench_play"
  has "$output" "linucb local B 1"
  FARO=$FARO run -0 bench/experiments --quick k-armed 002-pe --json "$T/e.json"
  has "$output" "all 2"
  jq -e '.experiments["k-armed"] | .wall > 0 and .cpu > 0' "$T/e.json"
}

@test "compare says what needs more instructions, and that times of other machines say nothing" {
  printf '{"commit": {}, "machine": {"processor": "a"}, "instructions": {"x": 1000, "y": 50, "z": 1}, "ns": {"x": 5}}' >"$T/old"
  printf '{"commit": {}, "machine": {"processor": "a"}, "instructions": {"x": 1005, "y": 60, "w": 1}, "ns": {"x": 2}}' >"$T/new"
  run -1 bench/compare "$T/old" "$T/new"
  has "$output" "1 of 2 differ by more than 1 %"
  has "$output" "1.20 x slower"
  has "$output" "only in the old one: z"
  has "$output" "0.40 x faster"
  sed -i 's/"a"/"b"/' "$T/new"
  run -1 bench/compare "$T/old" "$T/new"
  has "$output" "nanoseconds are not compared"
  run -0 bench/compare "$T/new" "$T/new"
}
