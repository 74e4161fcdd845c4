# faro sum. Sums have noise from the operating system, so tests use an epsilon at which it is next to none, or the
# bound that is printed with it. Noise is normal or lighter in its tails; tolerances are at least seven standard deviations: each
# check fails by chance with probability below 1e-11.

load support

setup() { faro_setup; }
teardown() { faro_teardown; }

# Nearly no noise on few values, a sum after every 10.
near=(--epsilon 1000 --delta 0.1 --batch 10 --calibration tight)

# run faro sum on the text, as printf understands it: sum STATUS TEXT ARGUMENT...
sum() {
  local want=$1
  printf -- "$2" >"$T/in"
  shift 2
  faro "$want" sum "$@" <"$T/in"
}

# Lines without the head: data
data() { grep -v '^#' <<<"$output"; }

# A field of the last line is within a distance of a number: last FIELD NUMBER DISTANCE
last() {
  data | tail -n 1 | awk -v f="$1" -v n="$2" -v d="$3" '{x = $f - n; if (x < 0) x = -x; exit !(x <= d)}' ||
    { echo "field $1 of the last line is not within $3 of $2: $output" && false; }
}

@test "help" {
  faro 0 sum --help
  has "$output" "usage: faro sum"
  has "$output" "faro sum --binary --horizon 1000000"
  [ -z "$stderr" ]
}

@test "the head tells the claim; a line at each release: count, sum, error" {
  seq 1 1000 | awk '{print $1 % 2}' >"$T/bits"
  faro 0 sum --range 0,1 --horizon 1000 --batch 100 --epsilon 2 --delta 1e-5 "$T/bits"
  has "$output" "# claim: epsilon 2, delta 1e-5, trust "
  has "$output" "level event: proven"
  has "$output" "# by: "
  has "$output" "of any guess about it by a factor of at most 7.39"
  has "$output" "calibration tight"
  has "$output" "# sums: after every 100 values and at the end; horizon 1000"
  has "$output" "with probability 0.95"
  has "$output" "# values: in [0, 1]"
  has "$output" $'# count\tsum\terror'
  [ "$(data | wc -l)" -eq 10 ]
  [ "$(data | cut -f 1 | paste -sd ' ')" = "100 200 300 400 500 600 700 800 900 1000" ]
  [[ $(data | head -n 1) =~ ^100$'\t'-?[0-9]+\.[0-9]+$'\t'[0-9.]+$ ]]
  [ "$stderr" = "faro sum: 1000 values read, 0 numbers clipped, 0 lines skipped" ]
}

@test "paper's constants, and the other trust models" {
  seq 1 100 | awk '{print $1 % 2}' >"$T/bits"
  faro 0 sum --binary --horizon 100 --calibration paper "$T/bits"
  has "$output" "calibration paper"
  faro 0 sum --binary --horizon 100 --trust central "$T/bits"
  faro 0 sum --binary --horizon 100 --trust local "$T/bits"
  faro 0 sum --binary --horizon 100 --shufflers log "$T/bits"
  faro 0 sum --binary --horizon 100 --shufflers 2 "$T/bits"
}

@test "sums are near the truth where epsilon is large, and errors within the bound" {
  seq 1 1000 | awk '{print $1 / 1000}' >"$T/in"
  faro 0 sum --range 0,1 --horizon 1000 --batch 100 --epsilon 100 "$T/in"
  last 1 1000 0
  last 2 500.5 10
  # of ten bounds at 0.999999999 all hold, which are six standard deviations, and a third more for chance
  faro 0 sum --range 0,1 --horizon 1000 --batch 100 --confidence 0.999999999 "$T/in"
  data | awk '{x = $2 - $1 * ($1 + 1) / 2000; if (x < 0) x = -x; if (x > 4 * $3 / 3) exit 1}'
  # and noise there is: two runs differ
  local first=$output
  faro 0 sum --range 0,1 --horizon 1000 --batch 100 --confidence 0.999999999 "$T/in"
  [ "$output" != "$first" ]
}

@test "other intervals: shifted and scaled back" {
  seq 1 1000 | awk '{print 100 + $1 % 3}' >"$T/in"
  faro 0 sum --range 100,102 --horizon 1000 --batch 100 --epsilon 100 "$T/in"
  last 2 101000 20
  awk '{print -$1}' "$T/in" >"$T/negative"
  faro 0 sum --range=-102,-100 --horizon 1000 --batch 100 --epsilon 100 "$T/negative"
  last 2 -101000 20
}

@test "values outside the range are clipped and counted" {
  sum 0 '0\n1e300\n-7\n0.5\n0.5\n1\n0\n1\n0\n1\n' --range 0,1 --horizon 10 "${near[@]}"
  last 2 5 2
  has "$stderr" "10 values read, 2 numbers clipped"
}

@test "a binary stream refuses 2, and takes every way to write 0 and 1" {
  sum 3 '0\n1\n2\n' --binary
  has "$stderr" 'faro: standard input:3: "2" is not 0 or 1, as --binary requires'
  sum 3 'x\n' --binary
  has "$stderr" 'standard input:1: "x"'
  sum 0 '0\n1\n1.0\n1e0\n+1\n-0\n 1 \n1\r\n1\n0' --binary --horizon 10 "${near[@]}"
  last 2 7 2
}

@test "columns make a vector; fields in quotes; names and numbers" {
  {
    echo 'id,"a ""name"", quoted",price, quantity'
    local i
    for ((i = 0; i < 10; i++)); do echo "$i,\"x, \"\"y\"\"\",\"2.5\", 4 "; done
  } >"$T/in.csv"
  faro 0 sum --column price,quantity --range 0,5 --range 0,10 --horizon 10 "${near[@]}" "$T/in.csv"
  has "$output" "# values: price in [0, 5], quantity in [0, 10]"
  has "$output" $'# count\tprice\terror\tquantity\terror'
  [ "$(data | awk '{print NF}')" -eq 5 ]
  last 2 25 8
  last 4 40 15
  # the order is that of the options, and a number is a column as well
  faro 0 sum --column 4 --column price --header --range 0,1000 --horizon 10 --json "${near[@]}" "$T/in.csv"
  [ "$(head -n 1 <<<"$output" | jq -c .columns)" = '["column 4","price"]' ]
  # without a header its line is data
  faro 3 sum --column 3 --range 0,5 "$T/in.csv"
  has "$stderr" "in.csv:1: \"price\" is not a finite decimal number"
  # separators
  tr ';' '\t' <<<$'a;b\n1;2' >"$T/tabs"
  faro 0 sum --column b --separator tab --range 0,5 "$T/tabs"
  has "$stderr" "1 value read"
}

@test "columns that are not there" {
  printf 'id,price,price\n1,2,3\n' >"$T/in.csv"
  faro 3 sum --column pric --range 0,1 "$T/in.csv"
  has "$stderr" "in.csv:1: no column is called \"pric\" (did you mean price?)"
  faro 3 sum --column price --range 0,1 "$T/in.csv"
  has "$stderr" "columns 2 and 3 are both called \"price\""
  faro 3 sum --column id,1 --range 0,1 "$T/in.csv"
  has "$stderr" "column 1 is given twice"
  faro 3 sum --column 4 --header --range 0,1 "$T/in.csv"
  has "$stderr" 'in.csv:2: "1,2,3" has fewer fields'
  printf 'a,b\n"1,2\n' >"$T/in.csv"
  faro 3 sum --column b --range 0,1 "$T/in.csv"
  has "$stderr" 'in.csv:2: ""1,2" has a quoted field that does not end'
  : >"$T/empty"
  faro 3 sum --column b --range 0,1 "$T/empty"
  has "$stderr" "the header is missing"
}

@test "a bad line ends the sum with its number; what was released stays" {
  local bad
  for bad in abc nan inf -inf 0x1 1e999 1,2 '1 2' '' '1\0002'; do
    sum 3 "1\n0\n1\n1\n0\n1\n1\n0\n1\n1\n$bad\n1\n" --range 0,1 --horizon 20 "${near[@]}"
    has "$stderr" "faro: standard input:11: \""
    has "$stderr" "\" is not a finite decimal number"
    has "$stderr" "10 values read"
    last 1 10 0
  done
  # shortened, and fit to print
  sum 3 "$(printf '\\033[31m%0100d' 0)\n" --range 0,1
  has "$stderr" '"?[31m0000'
  has "$stderr" '..."'
  not grep -q $'\033' <<<"$stderr"
  # a line of a million bytes is a line, a longer one is none
  head -c 1048577 /dev/zero | tr '\0' 1 >"$T/long"
  faro 3 sum --range 0,1 "$T/long"
  has "$stderr" "long:1: \"1111"
  has "$stderr" "is too long: a line may have at most 1048576 bytes"
}

@test "--skip-bad leaves bad lines out, and counts them" {
  sum 0 '1\n0\nx\n1\n1\n\n0\n1\nnan\n1\n0\n1\n1\n' --range 0,1 --horizon 20 --skip-bad "${near[@]}"
  last 1 10 0
  last 2 7 2
  has "$stderr" "10 values read, 0 numbers clipped, 3 lines skipped"
  { head -c 3000000 /dev/zero | tr '\0' 1 && printf '\n1\n'; } >"$T/long"
  faro 0 sum --range 0,1 --skip-bad "$T/long"
  has "$stderr" "1 value read, 0 numbers clipped, 1 line skipped"
}

@test "more values than the horizon: status 3, and nothing beyond is absorbed" {
  seq 1 200 | awk '{print 1}' >"$T/in"
  faro 3 sum --binary --horizon 105 "${near[@]}" "$T/in"
  has "$stderr" "in:106: more than the 105 values that --horizon allows"
  has "$stderr" "105 values read"
  has "$stderr" "the last 5 are in no sum"
  last 1 100 0
  # exactly as many as the horizon are fine
  head -n 105 "$T/in" >"$T/exact"
  faro 0 sum --binary --horizon 105 "${near[@]}" "$T/exact"
}

@test "values left at the end of the input are a sum of their own" {
  check_test
  local trust
  for trust in shuffle central local; do
    yes 1 | head -n 105 >"$T/in"
    faro 0 sum --binary --horizon 105 "${near[@]}" --trust $trust "$T/in"
    [ "$(data | wc -l)" -eq 11 ]
    last 1 105 0
    last 2 105 2.4
    [ "$stderr" = "faro sum: 105 values read, 0 numbers clipped, 0 lines skipped" ]
    # one value by itself, with and without a batch before it
    sum 0 '1\n' --binary "${near[@]}" --trust $trust
    last 1 1 0
    last 2 1 0.3
    sum 0 '1\n1\n1\n1\n1\n1\n1\n1\n1\n1\n1' --binary "${near[@]}" --trust $trust
    last 1 11 0
    last 2 11 0.8
  done
  # what fills the last batch changes no sum, not even one of values that are 0 or 1
  yes 1 | head -n 510 >"$T/in"
  faro 0 sum --binary --trust central --batch 500 --epsilon 1000 "$T/in"
  [ "$(data | wc -l)" -eq 2 ]
  last 2 510 0.4
  sum 0 '1\n' --binary --total --epsilon 1000
  last 2 1 0.3
}

@test "--total, --mean, --count: one line at the end" {
  check_test
  local trust
  { seq 1 100 && echo x && echo; } >"$T/in"
  for trust in shuffle central local; do
    faro 0 sum --total --range 0,100 --skip-bad --epsilon 1000 --delta 0.1 --trust $trust "$T/in"
    [ "$(data | wc -l)" -eq 1 ]
    has "$output" "# once: one release of all values"
    has "$output" $'# count\ttotal\terror'
    has "$output" "# neighbours differ in the values of one line; how many lines hold one is public"
    last 1 100 0
    last 2 5050 300
    faro 0 sum --mean --range 0,100 --skip-bad --epsilon 1000 --delta 0.1 --trust $trust "$T/in"
    has "$output" $'# count\tmean\terror'
    last 2 50.5 3
    # lines without a value count as such, and the number of values is private
    faro 0 sum --total --mean --count --range 0,100 --epsilon 1000 --delta 0.1 --trust $trust "$T/in"
    has "$output" $'# lines\tcount\terror\ttotal\terror\tmean\terror'
    has "$output" "neighbours differ in one line, which may hold a value or none"
    # nor does the closing line tell it
    [ "$stderr" = "faro sum: 102 lines read" ]
    last 1 102 0
    last 2 100 4
    last 4 5050 600
    last 6 50.5 6
    # a count alone needs no range
    faro 0 sum --count --epsilon 1000 --delta 0.1 --trust $trust "$T/in"
    last 2 100 4
  done
  faro 0 sum --total --mean --count --range 0,100 --epsilon 1000 --delta 0.1 --json "$T/in"
  [ "$(tail -n 1 <<<"$output" | jq -c keys)" = '["count","count_error","lines","mean","mean_error","total","total_error"]' ]
  # far less noise than the last of running sums, and the mean's error is that of the total
  yes 1 | head -n 2000 >"$T/in"
  faro 0 sum --total --mean --range 0,2 --json --quiet "$T/in"
  [ "$(tail -n 1 <<<"$output" | jq '.total_error < 24 and (.mean_error * 2000 / .total_error - 1 | fabs) < 1e-9')" = true ]
  # noise that leaves nothing to say about a mean: its range
  faro 0 sum --mean --range 0,2 --epsilon 0.01 --quiet --json - < <(yes 1 | head -n 20)
  [ "$(tail -n 1 <<<"$output" | jq -c '[.mean, (.mean_error * 100 | round)]')" = '[1,100]' ]
  faro 0 sum --mean --count --range 0,2 --epsilon 0.01 --confidence 0.999 --quiet --json - < <(yes 1 | head -n 20)
  [ "$(tail -n 1 <<<"$output" | jq -c '[.mean, (.mean_error * 100 | round)]')" = '[1,100]' ]
  faro 2 sum --total --binary --batch 10
  has "$stderr" "--batch is for running sums"
  faro 2 sum --total --binary --shufflers 2
  has "$stderr" "--shufflers must be 1 for --total, --mean and --count"
  faro 2 sum --total
  has "$stderr" "--range LOW,HIGH or --binary is required"
}

# Of 40 lines each error bound holds with probability 0.95, so more than 15 fail with probability below 3e-11; and the mean of the
# errors, of which a bound is 1.96, is off by 0.65 bounds, 8 of its standard deviations, with probability 1e-15.
@test "errors of totals, means, counts and last sums are within their bounds as often as they say" {
  slow_test
  local trust round
  seq 1 207 | awk '{print $1 % 5 ? 20 + $1 % 11 : "none"}' >"$T/in" # 166 values, their sum is 4142
  for trust in shuffle central local; do
    for ((round = 0; round < 40; round++)); do
      faro 0 sum --count --total --mean --range 0,30 --trust $trust --quiet "$T/in"
      data | awk -v OFS='\t' '{print $2 - 166, $3, $4 - 4142, $5, $6 - 4142 / 166, $7}'
      faro 0 sum --range 0,30 --trust $trust --quiet --skip-bad --batch 50 "$T/in"
      data | tail -n 1 | awk -v OFS='\t' '{print $2 - 4142, $3}'
    done >"$T/errors"
    awk '{for (i = 1; i < NF; i += 2) {n++; x = $i < 0 ? -$i : $i; bad[NF, i] += x > $(i + 1); if (i < 5) sum[NF, i] += $i / $(i + 1)}}
      END {for (k in bad) {m = sum[k] / 40; if (bad[k] > 15 || m > 0.65 || m < -0.65) exit 1}; exit n != 160}' "$T/errors"
  done
}

@test "a trusted server has less noise than shufflers, in its worst line and on the average" {
  yes 1 | head -n 2000 >"$T/in"
  local trust
  local -A worst mean
  for trust in shuffle central; do
    faro 0 sum --range 0,5 --quiet --trust $trust "$T/in"
    worst[$trust]=$(data | cut -f 3 | sort -g | tail -n 1)
    mean[$trust]=$(data | awk '{s += $3} END {print s / NR}')
  done
  awk -v a="${worst[central]}" -v b="${worst[shuffle]}" -v c="${mean[central]}" -v d="${mean[shuffle]}" \
    'BEGIN {exit !(a < 0.75 * b && c < d)}'
}

@test "errors come before claims" {
  check_test
  faro 3 sum --binary "$T/missing"
  [ -z "$output" ]
  printf 'a,b\n1,2\n' >"$T/in.csv"
  faro 3 sum --column c --range 0,1 "$T/in.csv" "$T/in.csv"
  [ -z "$output" ]
  faro 3 sum --column a --range 0,1 "$T/in.csv" "$T/missing"
  [ -z "$output" ]
  # the noise of the published theorems is too large here: one line, with the way out
  printf 'price\n1\n2\n' >"$T/in.csv"
  faro 2 sum --calibration paper --column price --range 0,100 "$T/in.csv"
  [ "$(wc -l <<<"$stderr")" -eq 1 ]
  has "$stderr" "faro sum: --calibration paper: exact noise"
  has "$stderr" "use calibration tight or a larger epsilon"
  [ -z "$output" ]
  faro 0 sum --calibration paper --column price --range 0,100 --epsilon 5 "$T/in.csv"
  faro 0 sum --calibration tight --column price --range 0,100 "$T/in.csv"
}

@test "claims about sums do not speak of policies and actions" {
  local trust
  for trust in shuffle central local; do
    sum 0 '1\n' --binary --trust $trust
    not grep -Eq 'polic|action' <<<"$output"
    sum 0 '1\n' --binary --trust $trust --json
    not grep -Eq 'polic|actions of' <<<"$output"
  done
  sum 0 '1\n' --binary --trust central
  has "$output" "trust central, level event: proven"
}

# Lines of docs/sum.md that show a command or what it prints, without their indent.
shown() { sed -n 's/^    //p' docs/sum.md | awk '/^\$ /{on = 1} /^[^$]/ && !/^(#|faro sum: |[0-9])/{on = 0} on'; }

# Two files of output agree: text exactly, counts exactly, errors within a tenth, and noisy numbers are numbers.
agree() {
  awk -F '\t' '{gsub(/e-0/, "e-")} NR == FNR {want[NR] = $0; n = NR; next}
    {m = FNR; split(want[FNR], w, "\t")}
    !/^[0-9]/ && $0 != want[FNR] {print "shown: " want[FNR]; print "got:   " $0; bad = 1}
    /^[0-9]/ {
      if ($1 != w[1] || NF != length(w)) bad = 1
      for (i = 3; i <= NF; i += 2) {d = $i / w[i]; if (d < 0.9 || d > 1.1) {print "error " w[i] " is now " $i; bad = 1}}
    }
    END {if (m != n) print n " lines are shown, and there are " m; exit bad || m != n}' "$1" "$2"
}

@test "docs/sum.md shows what the commands print" {
  shown >"$T/shown"
  [ "$(grep -c '^\$ ' "$T/shown")" -ge 5 ]
  [ "$(grep -c '^\$ .*faro sum' "$T/shown")" -ge 3 ]
  mkdir "$T/bin" "$T/in"
  ln -s "$(realpath "$FARO")" "$T/bin/faro"
  local line
  while IFS= read -r line; do
    if [[ $line == '$ '* ]]; then
      (cd "$T/in" && PATH=$T/bin:$PATH bash -c "${line#$ }") >"$T/got" 2>&1
      printf '%s\n' "$line" >>"$T/all"
      cat "$T/got" >>"$T/all"
    fi
  done <"$T/shown"
  agree "$T/shown" "$T/all"
}

@test "without a horizon it doubles, and the sums go on" {
  seq 1 10000 | awk '{print 1}' >"$T/in"
  faro 0 sum --binary --epsilon 100 --batch 100 "$T/in"
  has "$output" "horizon unknown: 1024 at first, then doubled"
  last 1 10000 0
  last 2 10000 60
  # counts grow by whole batches
  data | awk '$1 <= last || $1 % 100 {exit 1} {last = $1}'
  # a batch beyond the first horizon
  faro 0 sum --binary --epsilon 100 --batch 3000 "$T/in"
  [ "$(data | head -n 1 | cut -f 1)" -eq 3000 ]
}

@test "--json: the claim with the keys of run.json, then an object a line" {
  seq 1 100 | awk '{print 1}' >"$T/in"
  faro 0 sum --binary --horizon 100 "${near[@]}" --json --quiet "$T/in"
  [ -z "$stderr" ]
  jq . <<<"$output" >/dev/null
  [ "$(wc -l <<<"$output")" -eq 11 ]
  local head
  head=$(head -n 1 <<<"$output")
  jq -e '[.claim.epsilon, .claim.delta, .claim.level, .claim.proven, .confidence, .batch, .horizon] ==
    [1000, 0.1, "event", true, 0.95, 10, 100]' <<<"$head"
  "$FARO" run 000-fig1 --out "$T/run" "${tiny[@]}" >/dev/null
  [ "$(jq -c '.claim | keys' <<<"$head")" = "$(jq -c '.results[0].claim | keys' "$T/run/run.json")" ]
  [ "$(tail -n 1 <<<"$output" | jq -c '[keys, .count, (.sum - 100 | fabs) < 10, .error > 0]')" = \
    '[["count","error","sum"],100,true,true]' ]
  yes 1,2 | head -n 20 >"$T/in"
  faro 0 sum --column 1,2 --range 0,4 --json "${near[@]}" "$T/in"
  [ "$(tail -n 1 <<<"$output" | jq -c '[.count, (.sum | length), (.error | length)]')" = '[20,2,2]' ]
  [ "$(head -n 1 <<<"$output" | jq .horizon)" = null ]
}

@test "sums come out before the input ends" {
  mkfifo "$T/in"
  "$FARO" sum --binary --batch 10 <"$T/in" >"$T/out" 3>&- &
  started+=($!)
  exec 9>"$T/in"
  yes 1 | head -n 25 >&9
  local i
  for ((i = 0; i < 12000; i++)); do
    grep -q '^20' "$T/out" && break
    sleep 0.02
  done
  grep -q '^10' "$T/out"
  grep -q '^20' "$T/out"
  # half a line waits for its end
  printf '1\n1\n1\n1\n1' >&9
  sleep 0.1
  not grep -q '^30' "$T/out"
  exec 9>&-
  local pid=${started[0]}
  wait "$pid"
  started=()
  grep -q '^30' "$T/out" # the last line needs none
}

@test "files, - and several of them; line ends of other systems" {
  printf '1\r\n1\r\n1\r\n1' >"$T/a"
  printf '\xef\xbb\xbf1\n1\n1\n' >"$T/b"
  printf '1\n1\n1\n' >"$T/in"
  faro 0 sum --binary --horizon 10 "${near[@]}" "$T/a" - "$T/b" <"$T/in"
  has "$stderr" "10 values read"
  last 2 10 2
  faro 3 sum --binary "$T/a" "$T/missing"
  has "$stderr" "missing: cannot be read: No such file"
  faro 3 sum --binary "$T"
  has "$stderr" "cannot be read: Is a directory"
  # a header for each
  printf 'x,y\n1,2\n' >"$T/a"
  printf 'y,x\n2,1\n' >"$T/b"
  faro 0 sum --column x --range 0,1 "$T/a" "$T/b"
  has "$stderr" "2 values read, 0 numbers clipped"
}

@test "no values: no sums" {
  faro 3 sum --binary </dev/null
  [ -z "$(data)" ]
  has "$stderr" "faro: no values: the input is empty"
  has "$stderr" "0 values read"
  faro 3 sum --mean --range 0,1 --skip-bad <<<"x"
  has "$stderr" "faro: no values: every line was skipped"
}

@test "a first line that is no number may be a header" {
  printf 'age,x\n3,4\n' >"$T/in.csv"
  faro 3 sum --mean --range 0,10 "$T/in.csv"
  has "$stderr" "; if this line is a header, give --header, or --column NAME for a CSV file"
  faro 3 sum --mean --range 0,10 --column 1 "$T/in.csv"
  has "$stderr" "; if this line is a header, give --header"
  printf '3\nx\n' >"$T/in.csv"
  faro 3 sum --mean --range 0,10 "$T/in.csv"
  not grep -q header <<<"$stderr"
}

@test "output that cannot be written: status 4" {
  [ -w /dev/full ] || skip
  seq 1 100000 | awk '{print 1}' >"$T/in"
  run --separate-stderr bash -c '"$1" sum --binary --batch 10 <"$2" >/dev/full' _ "$FARO" "$T/in"
  [ "$status" -eq 4 ]
  has "$stderr" "cannot write the output"
}

@test "usage: what is wrong, and what is allowed" {
  check_test
  faro 2 sum
  has "$stderr" "--range LOW,HIGH or --binary is required"
  faro 2 sum --range 0,1 --binary
  has "$stderr" "--range and --binary exclude each other"
  faro 2 sum --range 0,1 --range 0,2
  has "$stderr" "--range must be given once, or once for each of the 1 columns (got 2)"
  local option
  for option in range=1,0 range=1 range=0,inf range=a,b range=0,1e101 range= epsilon=0 delta=1 trust=nobody shufflers=0 \
    shufflers=x horizon=0 horizon=x batch=0 calibration=figure confidence=1 column=0 column= column=a,,b column=10001 \
    separator=ab separator= "column=$(printf '%064d' 1)"; do
    faro 2 sum --binary "--$option"
    has "$stderr" "--${option%%=*} must be"
    [ -z "$output" ]
  done
  faro 2 sum --binary --trust centrl
  has "$stderr" "did you mean central?"
  faro 2 sum --binary --trust local --shufflers 2
  has "$stderr" "--shufflers requires --trust shuffle (got local)"
  # what the library refuses is an option here
  faro 2 sum --binary --horizon 10 --batch 11
  has "$stderr" "faro sum: --batch must be at most the horizon, 10 (got 11)"
  [ -z "$output" ]
  faro 2 sum --binary --horizn 3
  has "$stderr" "did you mean --horizon?"
}

@test "sum: more shufflers than any horizon holds are refused, not waited for" {
  run timeout 120 "$FARO" sum --binary --shufflers 50 --batch 16385 </dev/null
  [ "$status" -eq 2 ]
  [[ "$output" == *"shufflers"* ]]
}

@test "sum: a small epsilon and a long stream of unknown length go together" {
  run bash -c "yes 1 | head -20000 | '$FARO' sum --binary --quiet --trust central --epsilon 0.017 | tail -1"
  [ "$status" -eq 0 ]
  [[ "$output" == 20000* ]]
}
