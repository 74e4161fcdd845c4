# faro account: numbers against what they are known to be, both directions, and what people mistype.

load support

setup() { faro_setup; }
teardown() { faro_teardown; }

# A field of the JSON answer: field NAME ARGUMENT...
field() {
  local name=$1
  shift
  faro 0 account "$@" --json
  [ -z "$stderr" ]
  value=$(jq -e --arg name "$name" '.[$name]' <<<"$output")
}

# near VALUE WANT RELATIVE
near() {
  awk -v a="$1" -v b="$2" -v r="$3" 'BEGIN { d = a - b; if (d < 0) d = -d; if (b < 0) b = -b; exit !(d <= r * b) }' || {
    echo "$1 is not within $3 of $2"
    return 1
  }
}

# at_most VALUE LIMIT
at_most() {
  awk -v a="$1" -v b="$2" 'BEGIN { exit !(a <= b) }' || {
    echo "$1 is more than $2"
    return 1
  }
}

# The fields of the answer, in order: fields A,B,C ARGUMENT...
fields() {
  local want=$1
  shift
  faro 0 account "$@" --json
  [ "$(jq -r 'keys_unsorted | join(",")' <<<"$output")" = "$want" ]
}

# A refusal: one line on stderr that holds the words (and two of usage, if that is what is wrong), nothing on stdout:
# refused STATUS WORDS ARGUMENT...
refused() {
  local want=$1 words=$2 length=1
  shift 2
  faro "$want" account "$@"
  [ -z "$output" ]
  has "$(head -n 1 <<<"$stderr")" "$words"
  [ "$want" -ne 2 ] || length=3
  [ "$(wc -l <<<"$stderr")" -eq $length ] || { echo "not $length lines: $stderr" && false; }
}

# The list is refused, with its file and line: refused_list WORDS TEXT
refused_list() {
  printf '%b' "$2" >"$T/list.yaml"
  refused 3 "$T/list.yaml:$1" compose "$T/list.yaml" --delta 1e-6
}

bits=(bits --users 1000 --dimension 1 --sensitivity 1 --delta 1e-6)

# ---- what the numbers are

# delta(sigma) = Phi(1/(2 sigma) - E sigma) - e^E Phi(-1/(2 sigma) - E sigma), solved by halving.
gaussian_truth() {
  python3 - "$1" "$2" <<-'PYTHON'
	import math, sys
	E, D = float(sys.argv[1]), float(sys.argv[2])
	Phi = lambda x: math.erfc(-x / math.sqrt(2)) / 2
	delta = lambda s: Phi(0.5 / s - E * s) - math.exp(E) * Phi(-0.5 / s - E * s)
	low, high = 1e-3, 1e6
	for _ in range(200):
	    middle = math.sqrt(low * high)
	    if delta(middle) > D: low = middle
	    else: high = middle
	print(repr(high))
	PYTHON
}

@test "gaussian: sigma is that of Balle and Wang" {
  check_test
  field sigma gaussian --sensitivity 1 --epsilon 1 --delta 1e-6
  near "$value" 4.2246788 1e-6
  local e d
  for e in 0.1 1 5; do
    for d in 1e-9 1e-6 0.01; do
      field sigma gaussian --epsilon $e --delta $d
      near "$value" "$(gaussian_truth $e $d)" 1e-6
    done
  done
}

@test "gaussian: sigma is proportional to the sensitivity" {
  field sigma gaussian --sensitivity 250 --epsilon 1 --delta 1e-6
  near "$value" 1056.16972 1e-6
}

@test "laplace: without delta the scale is S / E, and epsilon S / scale" {
  field scale laplace --sensitivity 3 --epsilon 0.5
  [ "$(jq -n "$value == 6")" = true ]
  field scale laplace --sensitivity 1 --epsilon 0.3 --delta 0
  near "$value" 3.3333333333333333 1e-15
  field epsilon laplace --sensitivity 3 --scale 6
  near "$value" 0.5 1e-15
  field scale discrete-laplace --sensitivity 3 --epsilon 0.5
  near "$value" 6 1e-15
  field epsilon discrete-laplace --sensitivity 3 --scale 6
  near "$value" 0.5 1e-15
}

# The hockey-stick divergence of two Laplace distributions is 1 - e^((E - S/b) / 2).
@test "laplace: delta in closed form" {
  field delta laplace --scale 1 --epsilon 0.5
  near "$value" 0.22119921692859512 1e-9
  field epsilon laplace --scale 1 --delta 0.22119921692859513
  near "$value" 0.5 1e-9
  field delta laplace --scale 2 --epsilon 0.5
  near "$value" 0 0
}

# Shift 1, scale b: only k <= 0 is likelier by e^(1/b) than k - 1, of mass 1 / (1 + e^(-1/b)).
@test "discrete-laplace: delta of a shift by one" {
  field delta discrete-laplace --scale 1 --epsilon 0.5
  near "$value" 0.28764913664496794 1e-8
}

@test "discrete-gaussian: wide noise is nearly the Gaussian's" {
  field sigma discrete-gaussian --sensitivity 100 --epsilon 1 --delta 1e-6
  near "$value" 422.46788 1e-3
  field sigma discrete-gaussian --sensitivity 1 --epsilon 1 --delta 1e-6
  near "$value" 4.2246788 0.05
}

# delta = (e^E0 - e^E) / (1 + e^E0)
@test "response: in closed form, in all directions" {
  field epsilon response --local-epsilon 1.5
  near "$value" 1.5 1e-15
  field delta response --local-epsilon 1.5 --epsilon 1
  near "$value" 0.3216904897837022 1e-6
  field epsilon response --local-epsilon 1.5 --delta "$value"
  near "$value" 1 1e-6
  field local_epsilon response --epsilon 1 --delta 0.3216904897837022
  near "$value" 1.5 1e-6
  field local_epsilon response --epsilon 2
  near "$value" 2 1e-15
}

@test "bits: the reference point" {
  field noise_bits_total "${bits[@]}" --epsilon 1 --grid 63
  near "$value" 2.835e5 0.005
  jq -e '.grid == 63 and .bias == 0.5 and .epsilon == 1 and .delta == 1e-6
    and .noise_bits_total == 1000 * .noise_bits_per_user and .bits_per_user == 63 + .noise_bits_per_user' <<<"$output"
  near "$(jq .noise_sd <<<"$output")" 4.226 0.01
}

@test "bits: its fields, and a grid of its own" {
  fields grid,noise_bits_per_user,noise_bits_total,bias,noise_sd,bits_per_user,epsilon,delta "${bits[@]}" --epsilon 1
  jq -e '.grid >= 1 and .grid == (.grid | floor)
    and .noise_bits_per_user == (.noise_bits_per_user | floor)' <<<"$output"
  near "$(jq .noise_sd <<<"$output")" 4.2246788 0.01
}

@test "bits: vectors are near the Gaussian" {
  local d
  for d in 20 230; do
    faro 0 account bits --users 10000 --dimension $d --sensitivity 2 --epsilon 1 --delta 1e-6 --json
    near "$(jq .noise_sd <<<"$output")" 8.4493576 0.03
    jq -e ".bits_per_user == $d * (.grid + .noise_bits_per_user)" <<<"$output"
  done
}

@test "bits: fewer honest users add more noise each" {
  field noise_bits_per_user "${bits[@]}" --epsilon 1 --grid 63
  local all=$value
  field noise_bits_per_user "${bits[@]}" --epsilon 1 --grid 63 --honest 0.5
  near "$value" $((2 * all)) 0.01
}

@test "bits: in one dimension also unfair ones, which hide less" {
  field epsilon "${bits[@]}" --grid 63 --noise-bits 284
  local fair=$value
  near "$fair" 1 0.01
  at_most "$fair" 1
  field epsilon "${bits[@]}" --grid 63 --noise-bits 284 --bias 1/4
  at_most "$fair" "$value"
  near "$value" 1.17 0.05
}

@test "shuffle: the reference point" {
  fields epsilon,closed_form shuffle --local-epsilon 4 --users 100000 --delta 1e-6
  at_most "$(jq .epsilon <<<"$output")" 0.1715
  near "$(jq .epsilon <<<"$output")" 0.1698 0.01
  near "$(jq .closed_form <<<"$output")" 0.535 0.001
}

@test "shuffle: the closed form is null out of its range, the number never" {
  faro 0 account shuffle --local-epsilon 4 --users 100 --delta 1e-6 --json
  jq -e '.closed_form == null and .epsilon > 0 and .epsilon <= 4' <<<"$output"
  faro 0 account shuffle --local-epsilon 4 --users 100 --delta 1e-6
  has "$output" "closed_form = none"
}

@test "shuffle: a local delta costs" {
  field closed_form shuffle --local-epsilon 4 --users 100000 --delta 1e-6
  local without=$value
  field closed_form shuffle --local-epsilon 4 --users 100000 --delta 1e-6 --local-delta 1e-12
  at_most "$without" "$value"
  near "$value" "$without" 0.01
  faro 0 account shuffle --local-epsilon 1 --users 100000 --delta 1e-6 --local-delta 1e-12 --json
  jq -e '.epsilon > 0 and .epsilon <= 1' <<<"$output"
}

@test "shuffle: one user is not hidden" {
  field epsilon shuffle --local-epsilon 1 --users 1 --delta 1e-15
  near "$value" 1 1e-6
}

# 1024 leaves: 11 levels hold one user; the worst prefix of 1 .. 1024, that of 1023, is 10 nodes.
@test "tree: levels, the node's noise and the prefix's" {
  fields sigma,prefix_sigma,levels tree --steps 1024 --sensitivity 1 --epsilon 1 --delta 1e-6
  jq -e '.levels == 11' <<<"$output"
  near "$(jq .sigma <<<"$output")" 14.011675 1e-5
  near "$(jq .prefix_sigma <<<"$output")" 44.308 0.05
}

# One step is one Gaussian. The factor's coefficients are f_k = f_(k-1) (2k - 1) / (2k): the norm of a row times that of
# a column of 1024 steps is sum f_k^2 = 3.272554.
@test "factored: one step is a Gaussian, many have less noise than the tree" {
  fields sigma,prefix_sigma factored --steps 1 --epsilon 1 --delta 1e-6
  near "$(jq .sigma <<<"$output")" 4.2246788 1e-6
  near "$(jq .prefix_sigma <<<"$output")" 4.2246788 1e-6
  field prefix_sigma factored --steps 1024 --epsilon 1 --delta 1e-6
  at_most 13.82549 "$value" # the streaming form may cost a little more
  near "$value" 13.82549 0.005
}

@test "contributions: more of them, more noise" {
  check_test
  local mechanism one
  for mechanism in tree factored; do
    field sigma $mechanism --steps 64 --epsilon 1 --delta 1e-6
    one=$value
    field sigma $mechanism --steps 64 --epsilon 1 --delta 1e-6 --contributions 1
    [ "$value" = "$one" ]
    field sigma $mechanism --steps 64 --epsilon 1 --delta 1e-6 --contributions 4
    at_most "$one" "$value"
    not near "$value" "$one" 0.2
  done
}

# k Gaussians of mu are one of sqrt(k) mu.
@test "compose: Gaussians are a Gaussian" {
  printf -- '- {mechanism: gaussian, sigma: 20, times: 100}\n' >"$T/list.yaml"
  field epsilon compose "$T/list.yaml" --delta 1e-6
  local composed=$value
  field epsilon gaussian --sigma 2 --delta 1e-6
  near "$composed" "$value" 1e-6
  at_most "$value" "$(jq -n "$composed * (1 + 1e-12)")"
  field delta compose "$T/list.yaml" --epsilon 1
  near "$value" 0.0068295949831 1e-6
}

@test "compose: an unlike list, from a file and from standard input, with its curve" {
  slow_test
  cat >"$T/list.yaml" <<-'YAML'
	# all that a list may hold
	- {mechanism: gaussian, sigma: 20, sensitivity: 2, times: 10}
	- mechanism: laplace
	  scale: 10
	- {mechanism: response, local-epsilon: 0.1, times: 5}
	- {mechanism: pure, epsilon: 0.1, delta: 1e-8}
	YAML
  fields epsilon,delta,curve compose "$T/list.yaml" --delta 1e-6
  jq -e '.epsilon > 1 and .epsilon < 3 and .delta == 1e-6 and (.curve | length) >= 15
    and ([.curve[].delta] | . == (sort | reverse)) and ([.curve[].epsilon] | . == sort)
    and ([.curve[] | .epsilon, .delta] | all(type == "number"))' <<<"$output"
  local file=$output
  output=$("$FARO" account compose - --delta 1e-6 --json <"$T/list.yaml")
  [ "$output" = "$file" ]
}

@test "compose: pure mechanisms add up at most" {
  slow_test
  printf -- '- {mechanism: pure, epsilon: 0.5}\n- {mechanism: laplace, scale: 2}\n' >"$T/list.yaml"
  field epsilon compose "$T/list.yaml" --delta 1e-12
  near "$value" 1 1e-3
}

# ---- both directions

# The FIELD for a target, given as OPTION, has that target again, within RELATIVE:
# there_and_back FIELD OPTION RELATIVE MECHANISM EPSILON DELTA ARGUMENT...
there_and_back() {
  local name=$1 option=$2 relative=$3 mechanism=$4 epsilon=$5 delta=$6
  shift 6
  field "$name" "$mechanism" --epsilon "$epsilon" --delta "$delta" "$@"
  field epsilon "$mechanism" "$option" "$value" --delta "$delta" "$@"
  near "$value" "$epsilon" "$relative"
}

@test "forward of inverse is the target" {
  slow_test
  local e d
  for e in 0.1 1 8; do
    for d in 1e-9 1e-5; do
      there_and_back sigma --sigma 1e-6 gaussian $e $d --sensitivity 3
      there_and_back scale --scale 1e-6 laplace $e $d --sensitivity 3
      there_and_back scale --scale 1e-6 discrete-laplace $e $d --sensitivity 3
      there_and_back sigma --sigma 1e-3 discrete-gaussian $e $d --sensitivity 3
      there_and_back sigma --sigma 1e-6 tree $e $d --steps 1000
      there_and_back sigma --sigma 1e-6 factored $e $d --steps 1000
      there_and_back local_epsilon --local-epsilon 1e-6 response $e $d
    done
  done
}

@test "forward of inverse is the target: shuffle" {
  check_test
  local e
  for e in 0.05 0.2 1; do there_and_back local_epsilon --local-epsilon 1e-3 shuffle $e 1e-6 --users 100000; done
}

@test "forward of inverse is the target, or less by a bit: bits" {
  local d
  for d in 1 20; do
    field noise_bits_per_user bits --users 1000 --dimension $d --sensitivity 1 --epsilon 1 --delta 1e-6 --grid 63
    field epsilon bits --users 1000 --dimension $d --sensitivity 1 --delta 1e-6 --grid 63 --noise-bits "$value"
    near "$value" 1 0.01
    at_most "$value" 1.000000001
  done
}

@test "delta of epsilon of delta" {
  slow_test
  local mechanism
  for mechanism in "gaussian --sigma 2" "laplace --scale 1" "discrete-laplace --scale 3 --sensitivity 2" \
    "discrete-gaussian --sigma 3" "response --local-epsilon 2" "tree --steps 10 --sigma 9" \
    "factored --steps 10 --sigma 5" "shuffle --local-epsilon 3 --users 5000"; do
    # shellcheck disable=SC2086
    field epsilon $mechanism --delta 1e-4
    # shellcheck disable=SC2086
    field delta $mechanism --epsilon "$value"
    near "$value" 1e-4 0.01
  done
}

# ---- what people see

@test "a sentence tells what was computed, and from which result" {
  faro 0 account gaussian --epsilon 1 --delta 1e-6
  [ "$(wc -l <<<"$output")" -eq 2 ]
  has "$output" "sigma = 4.22467"
  has "$output" "Balle and Wang 2018"
  faro 0 account laplace --epsilon 1
  has "$output" "scale = 1"
  has "$output" "Dwork"
  faro 0 account discrete-gaussian --epsilon 1 --delta 1e-6
  has "$output" "Canonne, Kamath and Steinke 2020"
  faro 0 account "${bits[@]}" --epsilon 1 --grid 63
  has "$output" "noise_bits_per_user = 28"
  has "$output" "Zhu, Dong and Wang 2022"
  faro 0 account shuffle --local-epsilon 4 --users 100000 --delta 1e-6
  has "$output" "Feldman, McMillan and Talwar 2021"
  faro 0 account tree --steps 8 --epsilon 1 --delta 1e-6
  has "$output" "levels = 4"
  faro 0 account factored --steps 8 --epsilon 1 --delta 1e-6
  has "$output" "square-root factorisation"
  printf -- '- {mechanism: response, local-epsilon: 1}\n' >"$T/list.yaml"
  faro 0 account compose "$T/list.yaml" --delta 1e-6
  has "$output" "privacy-loss distributions"
}

@test "--help is short, with an example for each mechanism that works; one mechanism has its own" {
  faro 0 account --help
  has "$output" "Run \`faro account MECHANISM --help\` for the options of one of them."
  [ "$(wc -l <<<"$output")" -lt 40 ]
  local examples line mechanism
  examples=$(grep -o 'faro account [a-z].*' <<<"$output")
  printf -- '- {mechanism: gaussian, sigma: 2, times: 3}\n' >"$T/mechanisms.yaml"
  cd "$T"
  while read -r line; do
    run --separate-stderr bash -c "\"$FARO\" ${line#faro }"
    [ "$status" -eq 0 ]
  done <<<"$examples"
  [ "$(wc -l <<<"$examples")" -eq 11 ]
  # options of this mechanism, and of no other
  faro 0 account gaussian --help
  has "$output" "usage: faro account gaussian ("
  has "$output" "--sigma S"
  not grep -Eq -- '--(grid|steps|scale|users|rho)' <<<"$output"
  has "$output" "  faro account gaussian --epsilon 1 --delta 1e-6"
  faro 0 account bits -h
  has "$output" "greatest L2 distance of two users' vectors"
  has "$output" "noise_sd"
  has "$output" "bits_per_user"
  faro 0 account compose --help
  has "$output" "YAML list"
  faro 0 --help
  grep -q "^  account " <<<"$output"
}

@test "options before the mechanism, and with =" {
  field sigma gaussian --epsilon 1 --delta 1e-6
  local plain=$value
  faro 0 account --json --epsilon=1 --delta=1e-6 gaussian
  [ "$(jq .sigma <<<"$output")" = "$plain" ]
}

# ---- what people mistype

@test "no mechanism, or one that is none" {
  refused 2 "expected one of: gaussian, laplace"
  refused 2 'unknown mechanism "gausian" (did you mean gaussian?); expected one of: gaussian, ' gausian --epsilon 1
  refused 2 'unknown mechanism "binomial"; expected one of: gaussian, ' binomial
  refused 2 'unknown mechanism ""' ''
  refused 2 "unexpected argument laplace" gaussian laplace --epsilon 1
  refused 2 "unexpected argument b" compose a b --delta 0.1
}

@test "an option that is none" {
  faro 2 account gaussian --epsilom 1 --delta 1e-6
  has "$stderr" "unknown option --epsilom (did you mean --epsilon?)"
  faro 2 account gaussian --epsilon
  has "$stderr" "--epsilon needs a value"
  faro 2 account gaussian --json=yes
  has "$stderr" "--json takes no value"
  faro 2 account gaussian -e 1
  has "$stderr" "unknown option -e"
}

@test "numbers that are none" {
  check_test
  local text
  for text in -1 0 nan inf -inf 0x1 1e 1e-5 1001 1e400 one ' 1' '1 ' 1,5 ++1 1e-400; do
    refused 2 "--epsilon must be a number from 0.0001 to 1000 (got $text)" gaussian --epsilon "$text" --delta 1e-6
  done
  refused 2 "--epsilon must be a number from 0.0001 to 1000 (got nothing)" gaussian --epsilon '' --delta 1e-6
  refused 2 "(got a?b)" gaussian --epsilon $'a\nb' --delta 1e-6
  refused 2 "xxxx..., 5000 bytes)" gaussian --epsilon "$(head -c 5000 /dev/zero | tr '\0' x)" --delta 1e-6
}

@test "numbers out of range: each option names itself, its value and the range" {
  check_test
  local mechanism option text range
  while IFS='|' read -r mechanism option text range; do
    # shellcheck disable=SC2086
    refused 2 "--$option must be $range (got $text)" $mechanism --"$option" "$text"
  done <<-'END'
	gaussian --epsilon 1|delta|0|a number from 1e-15 to 0.999
	gaussian --epsilon 1|delta|1|a number from 1e-15 to 0.999
	gaussian --epsilon 1|delta|-1e-6|a number from 1e-15 to 0.999
	gaussian --epsilon 1|delta|1e-16|a number from 1e-15 to 0.999
	gaussian --epsilon 1 --delta 0.1|sensitivity|0|a number above 0, at most 1000000
	gaussian --epsilon 1 --delta 0.1|sensitivity|-2|a number above 0, at most 1000000
	gaussian --epsilon 1 --delta 0.1|sensitivity|1e7|a number above 0, at most 1000000
	gaussian --delta 0.1|sigma|0|a number from 1e-6 to 1000000000
	gaussian --delta 0.1|sigma|1e10|a number from 1e-6 to 1000000000
	laplace|scale|0|a number from 1e-6 to 1000000000
	laplace|epsilon|0|a number from 0.0001 to 1000
	laplace --epsilon 1|delta|1|a number from 1e-15 to 0.999, or 0
	laplace --epsilon 1|delta|-0|a number from 1e-15 to 0.999, or 0
	discrete-laplace --epsilon 1|sensitivity|1.5|a whole number from 1 to 1000000
	discrete-gaussian --epsilon 1 --delta 0.1|sensitivity|0.5|a whole number from 1 to 1000000
	discrete-gaussian --epsilon 1|delta|0|a number from 1e-15 to 0.999
	discrete-gaussian --delta 0.1|sigma|-3|a number from 1e-6 to 1000000000
	response|local-epsilon|0|a number from 0.0001 to 1000
	response --local-epsilon 1|delta|2|a number from 1e-15 to 0.999, or 0
	bits --dimension 1 --sensitivity 1 --delta 1e-6 --epsilon 1|users|0|a whole number from 1 to 1000000000
	bits --dimension 1 --sensitivity 1 --delta 1e-6 --epsilon 1|users|10.5|a whole number from 1 to 1000000000
	bits --dimension 1 --sensitivity 1 --delta 1e-6 --epsilon 1|users|2e9|a whole number from 1 to 1000000000
	bits --users 9 --sensitivity 1 --delta 1e-6 --epsilon 1|dimension|0|a whole number from 1 to 1000000
	bits --users 9 --sensitivity 1 --delta 1e-6 --epsilon 1|dimension|1e7|a whole number from 1 to 1000000
	bits --users 9 --dimension 1 --sensitivity 1 --delta 1e-6|epsilon|51|a number from 0.0001 to 50
	bits --users 9 --dimension 1 --delta 1e-6 --epsilon 1|sensitivity|0|a number above 0, at most 1000000
	bits --users 9 --dimension 1 --sensitivity 1 --delta 1e-6 --epsilon 1|grid|0|a whole number from 1 to 1000000
	bits --users 9 --dimension 1 --sensitivity 1 --delta 1e-6 --epsilon 1|grid|7.5|a whole number from 1 to 1000000
	bits --users 9 --dimension 1 --sensitivity 1 --delta 1e-6 --grid 9|noise-bits|0|a whole number from 1 to 1000000000000000
	bits --users 9 --dimension 1 --sensitivity 1 --delta 1e-6 --epsilon 1|honest|0|a number from 0.001 to 1
	bits --users 9 --dimension 1 --sensitivity 1 --delta 1e-6 --epsilon 1|honest|1.1|a number from 0.001 to 1
	bits --users 9 --dimension 1 --sensitivity 1 --delta 1e-6 --epsilon 1|bias|0.3|1/2 or 1/4
	bits --users 9 --dimension 1 --sensitivity 1 --delta 1e-6 --epsilon 1|bias|1/3|1/2 or 1/4
	bits --users 9 --dimension 1 --sensitivity 1 --delta 1e-6 --epsilon 1|bias|1/4|1/2
	bits --users 9 --dimension 2 --sensitivity 1 --delta 1e-6 --grid 9 --noise-bits 9|bias|1/4|1/2
	shuffle --users 9 --delta 1e-6|local-epsilon|51|a number from 0.0001 to 50
	shuffle --users 9 --delta 1e-6 --local-epsilon 1|local-delta|-1|a number from 1e-15 to 0.999, or 0
	shuffle --users 9 --delta 1e-6 --local-epsilon 1|local-delta|1e-5|0 or a number from 1e-15 to 1e-6, the value of --delta
	shuffle --delta 1e-6 --local-epsilon 1|users|1e10|a whole number from 1 to 1000000000
	tree --epsilon 1 --delta 1e-6|steps|0|a whole number from 1 to 1000000000
	tree --epsilon 1 --delta 1e-6|steps|1.5|a whole number from 1 to 1000000000
	factored --epsilon 1 --delta 1e-6|steps|1e10|a whole number from 1 to 10000000
	tree --epsilon 1 --delta 1e-6 --steps 8|contributions|0|a whole number from 1 to 1000000000
	tree --epsilon 1 --delta 1e-6 --steps 8|contributions|9|a whole number from 1 to 8, the value of --steps
	factored --epsilon 1 --delta 1e-6 --steps 8|contributions|9|a whole number from 1 to 8, the value of --steps
	compose x.yaml|delta|0|a number from 1e-15 to 0.999
	compose x.yaml|epsilon|0|a number from 0.0001 to 1000
	END
}

@test "too few options, too many, or another's" {
  refused 2 "gaussian needs --epsilon --delta, or --delta --sigma, or --epsilon --sigma (got none of them)" gaussian
  refused 2 "(got --epsilon)" gaussian --epsilon 1
  refused 2 "(got --epsilon --delta --sigma)" gaussian --epsilon 1 --delta 0.1 --sigma 1
  refused 2 "laplace needs --epsilon, or --scale" laplace --sensitivity 1
  refused 2 "bits needs --sensitivity --epsilon --delta --users --dimension, or " bits --users 10
  refused 2 "shuffle needs " shuffle --local-epsilon 1 --delta 0.1
  refused 2 "tree needs --epsilon --delta --steps, or " tree --epsilon 1 --delta 0.1
  refused 2 "compose needs --delta, or --epsilon (got none of them)" compose x.yaml
  refused 2 "compose needs a file" compose --delta 0.1
  refused 2 "gaussian has no option --users (got 5); it takes --sensitivity, --epsilon, --delta, --sigma" \
    gaussian --epsilon 1 --delta 0.1 --users 5
  refused 2 "laplace has no option --sigma (got 2)" laplace --sigma 2
  refused 2 "--epsilon is given twice (got 1 and 2)" gaussian --epsilon 1 --epsilon 2 --delta 0.1
}

@test "a delta that no epsilon covers is refused" {
  refused 3 "no epsilon reaches delta 1e-12 with this noise; try a larger --delta" bits --users 1 --dimension 1 --sensitivity 1 --grid 10 \
    --noise-bits 5 --delta 1e-12
}

@test "wrong lists: file, line, key and what is allowed" {
  check_test
  refused_list '2: sigma must be a number from 1e-6 to 1000000000 (got -1)' \
    '- {mechanism: laplace, scale: 1}\n- {mechanism: gaussian, sigma: -1}\n'
  refused_list '1: sigma must be a number from 1e-6 to 1000000000 (got "2")' '- {mechanism: gaussian, sigma: "2"}\n'
  refused_list '1: sigma must be a number from 1e-6 to 1000000000 (got a list)' '- {mechanism: gaussian, sigma: [2]}\n'
  refused_list '1: sigma must be a number from 1e-6 to 1000000000 (got .nan)' '- {mechanism: gaussian, sigma: .nan}\n'
  refused_list '3: unknown key "scal" in laplace (did you mean scale?); allowed: mechanism, sensitivity, scale, times' \
    '-\n  mechanism: laplace\n  scal: 1\n'
  refused_list '1: unknown key "sigma" in laplace' '- {mechanism: laplace, sigma: 1}\n'
  refused_list '1: sigma is missing in gaussian: a number from 1e-6 to 1000000000' '- {mechanism: gaussian}\n'
  refused_list '1: mechanism must be one of gaussian, laplace, response, pure (got gausian; did you mean gaussian?)' \
    '- {mechanism: gausian, sigma: 1}\n'
  refused_list '1: mechanism is missing in a mechanism: one of gaussian, laplace, response, pure' '- {sigma: 1}\n'
  refused_list '1: times must be a whole number from 1 to 1000000 (got 0)' '- {mechanism: laplace, scale: 1, times: 0}\n'
  refused_list '1: times must be a whole number from 1 to 1000000 (got 1.5)' \
    '- {mechanism: laplace, scale: 1, times: 1.5}\n'
  refused_list '1: local-epsilon must be a number from 0.0001 to 1000 (got 0)' '- {mechanism: response, local-epsilon: 0}\n'
  refused_list '1: delta must be a number from 1e-15 to 0.999, or 0 (got 1)' \
    '- {mechanism: pure, epsilon: 1, delta: 1}\n'
  refused_list '1: key "scale" is given twice in laplace' '- {mechanism: laplace, scale: 1, scale: 2}\n'
  refused_list '1: key "mechanism" is given twice in laplace' '- {mechanism: laplace, mechanism: pure, scale: 1}\n'
  refused_list '1: a mechanism must be a mapping of keys to values (got gaussian)' '- gaussian\n'
  refused_list '1: the file must be a list of 1 to 1000 mechanisms (got a mapping)' 'mechanism: gaussian\nsigma: 1\n'
  refused_list '1: the file must be a list of 1 to 1000 mechanisms (got nothing)' ''
  refused_list '1: the file must be a list of 1 to 1000 mechanisms (got an empty list)' '[]\n'
  refused_list '1: not YAML: ' '- {mechanism: gaussian, sigma: 1]\n'
  refused_list '3: a second YAML document begins here' '- {mechanism: laplace, scale: 1}\n---\n- 1\n'
  refused_list '1: brackets are nested more than 100 deep' "$(printf '%0200d' 0 | tr 0 '[')"
}

@test "lists that cannot be read" {
  refused 3 "$T/none.yaml: cannot be read: No such file" compose "$T/none.yaml" --delta 1e-6
  refused 3 "$T: cannot be read: Is a directory" compose "$T" --delta 1e-6
  head -c 1048577 /dev/zero | tr '\0' '#' >"$T/big.yaml"
  refused 3 "too large: at most 1048576 bytes are allowed" compose "$T/big.yaml" --delta 1e-6
  run --separate-stderr "$FARO" account compose - --delta 1e-6 <"$T/big.yaml"
  [ "$status" -eq 3 ]
  has "$stderr" "standard input: too large"
  run --separate-stderr "$FARO" account compose - --delta 1e-6 <<<'- 1'
  [ "$status" -eq 3 ]
  has "$stderr" "standard input:1: a mechanism must be a mapping"
}

@test "output that cannot be written is an error" {
  [ -c /dev/full ] || skip "no /dev/full"
  # shellcheck disable=SC2016
  run bash -c '"$0" account gaussian --epsilon 1 --delta 1e-6 >/dev/full' "$FARO"
  [ "$status" -eq 4 ]
}

@test "never a NaN, at the ends of all ranges" {
  slow_test
  local e d s
  for e in 1e-4 1000; do
    for d in 1e-15 0.999; do
      for s in 1e-9 1e6; do
        field sigma gaussian --epsilon $e --delta $d --sensitivity $s
        field scale laplace --epsilon $e --delta $d --sensitivity $s
        field sigma tree --epsilon $e --delta $d --sensitivity $s --steps 1e9
      done
    done
  done
  for d in 1e-15 0.999; do
    for s in 1e-6 1e9; do
      faro 0 account gaussian --sigma $s --delta $d --sensitivity 1e6 --json
      jq -e '.epsilon | type == "number" and . >= 0' <<<"$output"
      faro 0 account laplace --scale $s --delta $d --sensitivity 1e6 --json
      jq -e '.epsilon | type == "number" and . >= 0' <<<"$output"
    done
  done
}

# The conversion lies between the exact Gaussian (mu^2/2 = rho) and rho + 2 sqrt(rho ln(1/delta)), and inverts.
@test "zcdp, both directions" {
  faro 0 account zcdp --rho 0.5 --delta 1e-6 --json
  local epsilon rho
  epsilon=$(jq .epsilon <<<"$output")
  awk -v e="$epsilon" 'BEGIN { exit !(e < 0.5 + 2 * sqrt(0.5 * log(1e6))) }'
  faro 0 account gaussian --sigma 1 --delta 1e-6 --json
  awk -v e="$epsilon" -v g="$(jq .epsilon <<<"$output")" 'BEGIN { exit !(e >= g) }'
  faro 0 account zcdp --epsilon "$epsilon" --delta 1e-6 --json
  rho=$(jq .rho <<<"$output")
  near "$rho" 0.5 1e-6
}
