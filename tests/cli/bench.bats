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

# same OURS THEIRS ALGORITHMS: the mean of ten differences is within nine standard errors. Fixed seeds, so that nothing here is by
# chance; but each kind of processor has last digits of its own, and so instances of its own.
same() {
  jq -s '[.[].regrets] | add' "$1" >"$T/a"
  jq -s '[.[].regrets] | add' "$2" >"$T/b"
  run -0 jq -n --argjson n "$3" --slurpfile a "$T/a" --slurpfile b "$T/b" '[range($n) as $r | [range(10) as $i | $b[0][10 * $r + $i] - $a[0][10 * $r + $i]] |
    (add / 10) as $mean | (map((. - $mean) * (. - $mean)) | add / 90 | sqrt) as $error | {mean: $mean, error: $error}]'
  echo "$2 $output"
  jq -e --argjson n "$3" 'length == $n and all(.[]; .error > 0 and (.mean | fabs) < 9 * .error)' <<<"$output"
}

@test "faro, the textbook and NumPy have the same regret on the same instances" {
  "$programs/bench_play" 0 <"$T/small.yaml" >"$T/ours"
  "$programs/bench_textbook" 1 "$T/instances" <"$T/small.yaml" >"$T/textbook"
  same "$T/ours" "$T/textbook" 5
  /usr/bin/python3 -c 'import numpy' 2>/dev/null || return 0
  words="none:1:user local:1:user central-tree:1:user shuffle-amplified:20:user shuffle-bits:20:user"
  for style in user batch array; do
    bench/numpy_linucb.py "$T/instances" 400 10 0.1 ${words//user/$style} >"$T/numpy-$style"
    same "$T/ours" "$T/numpy-$style" 5
  done
}

@test "faro and plain C have the same regret on the same instances" {
  sed -i '/shuffle/d; s/dimension: 4, arms: 20/dimension: 5, arms: 100/; s/horizon: 400/horizon: 2000/' "$T/small.yaml"
  "$programs/bench_play" 0 <"$T/small.yaml" >"$T/ours"
  "$programs/bench_textbook" 0 "$T/instances" <"$T/small.yaml"
  "$programs/bench_plain" "$T/instances" 2000 10 0.1 none local central-tree >"$T/plain"
  same "$T/ours" "$T/plain" 3
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
