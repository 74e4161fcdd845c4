# faro evaluate. Private estimates have noise from the operating system: tests use an epsilon at which it is next to none, or
# ask for nothing but the claim.

load support

setup() {
  faro_setup
  log >"$T/log.csv"
  at=(--action shown --reward clicked --propensity p)
  hide=(--private --arms a,b,c --clip 5)
}
teardown() { faro_teardown; }

# A log of 3000 rows: arms a, b, c with probabilities 1/2, 1/4, 1/4; b pays 3 times in 5, the others 1 in 5. No luck is in it.
log() {
  awk 'BEGIN {
    print "visitor,age,shown,p,clicked,q,qa,qb,qc"
    for (i = 0; i < 3000; i++) {
      arm = i % 4 < 2 ? "a" : i % 4 == 2 ? "b" : "c"
      t = int(i / 4) % 5
      r = arm == "b" ? t < 3 : t < 1
      q = arm == "b" ? 0.8 : 0.1
      printf "v%d,%g,%s,%g,%d,%g,0.1,0.8,0.1\n", i % 1500, (i % 7) / 7, arm, i % 4 < 2 ? 0.5 : 0.25, r, q
    }
  }'
}

# The mean of a method: mean METHOD, from --json
mean() { jq -r --arg m "$1" '.estimates[] | select(.method == $m) | .mean' <<<"$output"; }

# near A B DISTANCE
near() {
  awk -v a="$1" -v b="$2" -v d="$3" 'BEGIN {x = a - b; if (x < 0) x = -x; exit !(x <= d)}' ||
    { echo "$1 is not within $3 of $2" && false; }
}

@test "help" {
  faro 0 evaluate --help
  has "$output" "usage: faro evaluate LOG.csv"
  has "$output" "{\"theta\": [[0.1, 0.5], [0.2, 0]], \"features\": [\"age\"]}"
  [ -z "$stderr" ]
}

@test "always one arm: every method finds its mean, beside the log's and uniform play's" {
  faro 0 evaluate "$T/log.csv" "${at[@]}" --policy "always b" --features age --json
  for m in replay ips snips; do near "$(mean $m)" 0.6 1e-9; done
  near "$(mean dr)" 0.6 0.01
  near "$(mean logged)" 0.3 1e-9
  near "$(mean uniform)" 0.333333 1e-5
  near "$(jq -r .effective <<<"$output")" 750 1e-6
  [ "$(jq -r .matched <<<"$output")" = 0.25 ]
  [ "$(jq -r '.warnings | length' <<<"$output")" -eq 0 ]
  [ "$(jq -r '.estimates[] | select(.method == "direct") | .low' <<<"$output")" = null ]
}

@test "a policy by one column, by a column per arm, and by a file are the same policy" {
  echo '{"theta": [[0], [1], [0]], "features": [], "explore": 0.3}' >"$T/new.json"
  faro 0 evaluate "$T/log.csv" "${at[@]}" --policy q --json
  one=$(mean snips)
  [ "$(mean dr)" = "" ] # the policy's other probabilities are not known
  faro 0 evaluate "$T/log.csv" "${at[@]}" --policy qa,qb,qc --arms a,b,c --json
  [ "$(mean snips)" = "$one" ]
  near "$(mean dr)" 0.52 0.01
  faro 0 evaluate "$T/log.csv" "${at[@]}" --policy "$T/new.json" --arms a,b,c --features age --json
  near "$(mean snips)" "$one" 1e-9
  near "$one" 0.52 1e-9
  faro 0 evaluate "$T/log.csv" "${at[@]}" --policy q --features age --json
  [ "$(mean snips)" = "$one" ]
}

@test "what has one thing per arm needs --arms, and its order counts" {
  echo '{"theta": [[0], [1], [0]], "features": [], "explore": 0.3}' >"$T/new.json"
  faro 3 evaluate "$T/log.csv" "${at[@]}" --policy qb,qa,qc
  has "$stderr" "--arms ARM,... is required: --policy has a column per arm, and only the order says which is whose"
  has "$stderr" "those of the log are, sorted: a, b, c"
  faro 3 evaluate "$T/log.csv" "${at[@]}" --policy "$T/new.json"
  has "$stderr" "--policy has a list of numbers per arm"
  faro 3 evaluate "$T/log.csv" "${at[@]}" --policy uniform --model "$T/new.json"
  has "$stderr" "--model has a list of numbers per arm"
  faro 0 evaluate "$T/log.csv" "${at[@]}" --policy qb,qa,qc --arms b,a,c
  has "$output" "3000 rows, 3 arms (b, a, c)"
  faro 0 evaluate "$T/log.csv" "${at[@]}" --policy qb,qa,qc --arms b,a,c --json
  near "$(mean snips)" 0.52 1e-9
  # many arms: as many as fit
  awk 'BEGIN { print "shown,p,clicked"; for (i = 0; i < 2000; i++) print "arm-number-" 100 + i % 40 ",0.025," (i % 3 < 1) }' >"$T/many.csv"
  faro 0 evaluate "$T/many.csv" "${at[@]}" --policy uniform
  has "$output" "2000 rows, 40 arms (arm-number-100, arm-number-101, "
  has "$output" ", ...)"
}

@test "the table has a line per method, the warnings and a word about privacy" {
  faro 0 evaluate "$T/log.csv" "${at[@]}" --policy uniform
  has "$output" "policy uniform on $T/log.csv: 3000 rows, 3 arms (a, b, c)"
  has "$output" "95 % interval"
  has "$output" "self-normalised"
  has "$output" "no interval: it would not cover the model's error"
  has "$output" "no privacy: these numbers are computed from the rows themselves"
  not has "$output" "warning:"
  [ -z "$stderr" ]
}

@test "a log that says too little has no interval and a warning" {
  head -n 41 "$T/log.csv" >"$T/short.csv"
  faro 0 evaluate "$T/short.csv" "${at[@]}" --policy "always b"
  has "$output" "warning: The log says too little about this policy: 40 rows have the weight of 10.0."
  has "$output" "no interval: too few effective rows"
}

@test "wrong propensities and arms that were never logged are named" {
  awk -F, -v OFS=, 'NR > 1 {$4 = $4 * 0.7} 1' "$T/log.csv" >"$T/lie.csv"
  faro 0 evaluate "$T/lie.csv" "${at[@]}" --policy uniform
  has "$output" "The weights average to 1.429 and should average to 1"
  faro 0 evaluate "$T/log.csv" "${at[@]}" --policy "always d" --arms a,b,c,d
  has "$output" "The policy plays arm number 4, which is in no row of the log"
  has "$output" "no interval: the log lacks an arm that the policy plays"
}

@test "rows of a person count together" {
  faro 0 evaluate "$T/log.csv" "${at[@]}" --policy "always b" --person visitor
  has "$output" "3000 rows of 1500 people"
}

@test "private: the claim, and nothing about single rows" {
  faro 0 evaluate "$T/log.csv" "${at[@]}" --policy "always b" "${hide[@]}"
  has "$output" "claim: epsilon 1, delta 1e-6, trust central, level event: proven"
  has "$output" "released with noise"
  not has "$output" "matched"
  not has "$output" "greatest weight"
  [ -z "$stderr" ]
  faro 0 evaluate "$T/log.csv" "${at[@]}" --policy "always b" --person visitor --contributions 2 "${hide[@]}"
  has "$output" "level user (at most 2 rows of a person are used): proven"
  has "$output" "1500 people"
  not has "$output" "3000" # how many rows people have is not public
}

@test "private: no progress by rows, whose number would follow from it" {
  slow_test
  command -v script >/dev/null || skip "no terminal can be made here"
  awk 'BEGIN { print "visitor,shown,p,clicked"; for (i = 0; i < 4000000; i++) print int(i / 400) (i % 3 < 1 ? ",a,0.5," : ",b,0.5,") i % 2 }' >"$T/long.csv"
  command="$FARO evaluate $T/long.csv ${at[*]} --policy uniform --private --arms a,b --clip 1"
  script -qec "$command" /dev/null >"$T/shown" 2>&1
  grep -q " of 1 passes" "$T/shown" || skip "this machine is too fast to show progress"
  script -qec "$command --person visitor --contributions 400" /dev/null >"$T/shown" 2>&1
  grep -q "10000 people" "$T/shown"
  not grep -q " of 1 passes" "$T/shown"
}

@test "private: with next to no noise it is the plain estimate, for every trust model" {
  for trust in central shuffle local; do
    faro 0 evaluate "$T/log.csv" "${at[@]}" --policy "always b" "${hide[@]}" --trust $trust \
      --epsilon 1000 --delta 0.1 --json
    near "$(mean snips)" 0.6 0.1
    near "$(mean logged)" 0.3 0.1
  done
}

@test "private: faro verify computes the claim again" {
  check_test
  for trust in central shuffle local; do
    faro 0 evaluate "$T/log.csv" "${at[@]}" --policy "always b" "${hide[@]}" --trust $trust --json
    echo "$output" >"$T/$trust.json"
    faro 0 verify "$T/$trust.json"
    has "$output" "1 verified, 0 not verified, 0 wrong"
  done
  jq '.results[0].claim.epsilon = 0.5' "$T/central.json" >"$T/wrong.json"
  faro 1 verify "$T/wrong.json"
  has "$output" "0 verified, 0 not verified, 1 wrong"
}

@test "private: dr needs a model that is public" {
  echo '{"theta": [[0.2], [0.6], [0.2]], "features": []}' >"$T/model.json"
  faro 0 evaluate "$T/log.csv" "${at[@]}" --policy "always b" "${hide[@]}" --json
  [ "$(mean dr)" = "" ]
  faro 0 evaluate "$T/log.csv" "${at[@]}" --policy "always b" "${hide[@]}" --model "$T/model.json" \
    --epsilon 1000 --delta 0.1 --json
  near "$(mean dr)" 0.6 0.1
}

@test "bernstein: predictions of a file are clipped to the range, and a learnt model is no proof" {
  echo '{"theta": [[-50], [80], [0.2]], "features": []}' >"$T/wild.json"
  echo '{"theta": [[0], [1], [0.2]], "features": []}' >"$T/clipped.json"
  sure=(--policy uniform --arms a,b,c --clip 5 --interval bernstein)
  faro 0 evaluate "$T/log.csv" "${at[@]}" "${sure[@]}" --model "$T/clipped.json" --json
  expected=$(jq -c .estimates <<<"$output")
  [ "$(jq -r '.warnings | length' <<<"$output")" -eq 0 ]
  faro 0 evaluate "$T/log.csv" "${at[@]}" "${sure[@]}" --model "$T/wild.json" --json
  [ "$(jq -c .estimates <<<"$output")" = "$expected" ]
  faro 0 evaluate "$T/log.csv" "${at[@]}" "${sure[@]}"
  has "$output" "warning: The intervals of dr and gain are not proven: their model was learnt from this log."
  faro 0 evaluate "$T/log.csv" "${at[@]}" --policy q --clip 5 --interval bernstein # has neither
  not has "$output" "not proven"
}

@test "what is wrong with options" {
  faro 2 evaluate
  has "$stderr" "--action COL is required"
  faro 2 evaluate "${at[@]}" --policy uniform
  has "$stderr" "LOG.csv is required"
  faro 2 evaluate "$T/log.csv" "${at[@]}" --policy uniform --private --arms a,b,c
  has "$stderr" "--clip W is required with --private"
  faro 2 evaluate "$T/log.csv" "${at[@]}" --policy uniform --private --clip 3
  has "$stderr" "--arms ARM,... is required with --private"
  faro 2 evaluate "$T/log.csv" "${at[@]}" --policy uniform --contributions 2
  has "$stderr" "--contributions is for --private"
  faro 2 evaluate "$T/log.csv" "${at[@]}" --policy uniform "${hide[@]}" --contributions 2
  has "$stderr" "--contributions needs --person"
  faro 2 evaluate "$T/log.csv" "${at[@]}" --policy uniform --interval bernstein
  has "$stderr" "--interval bernstein needs --clip W"
  faro 2 evaluate "$T/log.csv" "${at[@]}" --policy uniform "${hide[@]}" --residual 1
  has "$stderr" "--residual is for dr"
}

# One wrong thing at a time; the message names file, line and column: bad WORDS ARGUMENT...
bad() {
  local words=$1
  shift
  faro 3 evaluate "$@"
  has "$stderr" "$words"
  [ -z "$output" ]
}

@test "what is wrong with logs" {
  bad "no-such.csv" "$T/no-such.csv" "${at[@]}" --policy uniform
  bad "must name a column of the file (got \"show\") (did you mean shown?)" "$T/log.csv" --action show --reward clicked \
    --propensity p --policy uniform
  bad "log.csv:1: --reward must name a column of the file (got \"click\")" "$T/log.csv" --action shown --reward click \
    --propensity p --policy uniform
  bad "must be a file (it is read more than once)" <(cat "$T/log.csv") "${at[@]}" --policy uniform
  sed '5s/0.25/0/' "$T/log.csv" >"$T/zero.csv"
  bad "zero.csv:5: column 4 (p) must be a probability above 0 and at most 1 (got 0)" "$T/zero.csv" "${at[@]}" \
    --policy uniform
  sed '7s/,0.8,/,1.8,/' "$T/log.csv" >"$T/q.csv"
  bad "q.csv:7: column qb must be a probability from 0 to 1 (got 1.8)" "$T/q.csv" "${at[@]}" --policy qa,qb,qc --arms a,b,c
  sed '7s/,0.8,0.1/,0.5,0.1/' "$T/log.csv" >"$T/sum.csv"
  bad "sum.csv:7: the policy's probabilities must add up to 1 (got 0.7)" "$T/sum.csv" "${at[@]}" --policy qa,qb,qc --arms a,b,c
  bad "--policy must be uniform, \"always ARM\", FILE.json, a column of the log, or a column per arm, C1,C2,... (got \"unifrom\")" \
    "$T/log.csv" "${at[@]}" --policy unifrom
  bad "column per arm, C1,C2,... (got \"qx\")" "$T/log.csv" "${at[@]}" --policy qa,qx,qc --arms a,b,c --features age
  bad "log.csv:1: --features must name a column of the file (got \"agee\") (did you mean age?)" "$T/log.csv" "${at[@]}" \
    --policy qa,qb,qc --arms a,b,c --features agee
  bad "one for each of the 3 arms in their order (got 2)" "$T/log.csv" "${at[@]}" --policy qa,qb --arms a,b,c
  bad "must name an arm of the log, or of --arms (got \"z\"); its arms are: a, b, c" "$T/log.csv" "${at[@]}" \
    --policy "always z"
  bad "--model needs the policy's probability of every arm" "$T/log.csv" "${at[@]}" --policy q --arms a,b,c \
    --model <(echo '{"theta": [[0], [0], [0]], "features": []}')
}

@test "private: nothing that a row says decides whether the command succeeds, or is printed" {
  local edit truth
  hide+=(--epsilon 1000 --delta 0.5)
  faro 0 evaluate "$T/log.csv" "${at[@]}" --policy qa,qb,qc --json "${hide[@]}"
  truth=$(mean snips)
  # of visitor 5: probabilities that add up to 0.7, an arm that there is not, none, propensities, rewards, texts
  for edit in 's/,0.8,0.1/,0.5,0.1/' 's/,[abc],/,z,/' 's/,[abc],/,,/' 's/,0.25,/,0,/;s/,0.5,/,0,/' 's/,0.25,/,1e9,/;s/,0.5,/,1e9,/' \
    's/,[01],0/,7,0/' 's/,[01],0/,nan,0/' 's/,[01],0/,,0/' 's/,0.8,0.1/,much,0.1/' 's/,0.8,0.1/,"",0.1/'; do
    sed "7{$edit}" "$T/log.csv" >"$T/edited.csv"
    not cmp -s "$T/log.csv" "$T/edited.csv"
    faro 0 evaluate "$T/edited.csv" "${at[@]}" --policy qa,qb,qc --person visitor --contributions 2 --json "${hide[@]}"
    [ -z "$stderr" ]
    [ "$(jq .people <<<"$output")" = 1500 ]
    [ "$(jq -n "($(mean snips) - $truth) | fabs < 0.02")" = true ]
  done
  # what is not a row of the file at all
  sed '7s/,.*//' "$T/log.csv" >"$T/short.csv"
  bad "short.csv:7: must have 9 columns" "$T/short.csv" "${at[@]}" --policy uniform "${hide[@]}"
  sed '7s/^v[0-9]*//' "$T/log.csv" >"$T/nobody.csv"
  bad "nobody.csv:7: column 1 (visitor) must say who the person is" "$T/nobody.csv" "${at[@]}" --policy uniform "${hide[@]}" --person visitor
}

@test "what is wrong with policy files" {
  check_test
  local text words i=0
  while IFS='|' read -r text words; do
    echo "$text" >"$T/p$((++i)).json"
    bad "p$i.json$words" "$T/log.csv" "${at[@]}" --arms a,b,c --features age,q --policy "$T/p$i.json"
  done <<'CASES'
{"theta": [[1, 2|:2: not JSON
[1, 2]|: must be an object
{"thetas": []}|: unknown key thetas (did you mean theta?)
{"theta": 5}|: theta must be a list
{"theta": [[1, 2], [3, 4]]}|: theta must have a list for each of the 3 arms (got 2)
{"theta": [[1, 2], [3, 4], [5]]}|: the lists of theta must have the same length
{"theta": [1, 2, 3, 4]}|: theta must have 6 numbers (3 arms and 2 features), or 9 with a constant per arm (got 4)
{"theta": [[1, 2], [3, "x"], [5, 6]]}|: theta must hold finite numbers
{"theta": [1, 2, 3], "features": ["height"]}|: features must name columns that --features lists (got height)
{"theta": [1, 2, 3], "features": ["age"], "explore": 2}|: explore must be a number from 0 to 1
CASES
}
