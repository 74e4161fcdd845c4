# faro audit.

load support

setup() { faro_setup; }
teardown() { faro_teardown; }

@test "a release with a proven claim is consistent: status 0" {
  faro 0 audit local --calibration paper --trials 4000
  has "$output" "4000 trials"
  has "$output" "confidence 0.99"
  has "$output" "reaches could see"
  [[ $output =~ local\ +paper\ +\(1,\ 0.1\)\ +[0-9.e-]+\ +1\.[0-9]+\ +consistent ]]
  [[ $output =~ "local, paper: the best attack (Gaussian: " ]]
  [[ $output =~ "could have seen epsilon >= "1\.[0-9]+", where 1 is claimed. It found " ]]
  [ -z "$stderr" ]
}

@test "only what was proven can be violated: others have no claim, status 0" {
  slow_test
  faro 0 audit shuffle-amplified --calibration figure --trials 20000
  [[ $output =~ figure\ +none\ +[0-9.]+\ +-\ +no\ claim ]]
  [[ $output =~ "reaches epsilon >= "[2-9]\.[0-9]+". There is no claim that it could contradict." ]]
  not grep -q violated <<<"$output"
  [ -z "$stderr" ]
  faro 0 audit shuffle-amplified --calibration figure --trials 20000 --json
  [ "$(jq '.consistent' <<<"$output")" = true ]
  [ "$(jq '.audits[0].epsilon_lower > .audits[0].epsilon' <<<"$output")" = true ]
}

@test "what an audit could have found is printed, and what it tested" {
  faro 0 audit shuffle-laplace --calibration tight --batch 5 --trials 4000
  has "$output" "could see: an epsilon of this or more was likely to be found; -: none was."
  has "$output" "The order of shuffled messages was tested too"
  faro 0 audit shuffle-laplace --calibration tight --batch 5 --trials 4000 --json
  [ "$(jq -c '.audits[0] | [.data, .against, .power > 1, .order_power > 1]' <<<"$output")" = '["numbers","message",true,true]' ]
  # more runs find smaller violations, at a small delta too
  faro 0 audit local-gaussian --calibration tight --delta 1e-6 --trials 4000 --json
  local few=$output
  faro 0 audit local-gaussian --calibration tight --delta 1e-6 --trials 40000 --json
  [ "$(jq -n --argjson a "$few" --argjson b "$output" '$b.audits[0].power < $a.audits[0].power')" = true ]
  [ "$(jq -r '.audits[0].against' <<<"$output")" = Gaussian ]
}

@test "honest and crowd" {
  faro 0 audit shuffle-bits --calibration tight --batch 6 --honest 0.5 --trials 4000
  has "$output" consistent
  faro 0 audit shuffle-laplace --calibration tight --batch 3 --crowd 12 --trials 4000
  has "$output" consistent
  faro 3 audit shuffle-laplace --batch 10 --crowd 5 --trials 1000
  has "$stderr" "crowd must be at least the batch, 10 (got 5)"
}

@test "none claims nothing" {
  faro 0 audit none --trials 1000 # calibrations do not differ
  [ "$(grep -c "no claim$" <<<"$output")" -eq 1 ]
  faro 0 audit none --calibration paper --trials 2000
  has "$output" "no claim"
  faro 0 audit none --calibration paper --trials 2000 --json
  [ "$(jq -c '.audits[0] | [.epsilon, .delta, .proven, .verdict]' <<<"$output")" = '[null,null,false,"no claim"]' ]
}

@test "the first example of the help ends well, and no line is wider than 80 columns" {
  faro 0 audit local --trials 4000
  has "$output" "no claim: not proven to be private"
  [ "$(awk 'length > 80' <<<"$output")" = "" ]
  faro 0 audit shuffle-amplified --epsilon 0.0001 --delta 1e-15 --trials 1000
  [ "$(awk 'length > 80' <<<"$output")" = "" ]
}

@test "all: every release under every calibration that it offers, and every proven claim is consistent" {
  slow_test
  run --separate-stderr "$FARO" audit all --trials 4000 --json
  [ "$status" -le 1 ]
  # learners that take releases as they are; studies calibrate theirs by rules of their own
  local offered
  offered=$("$FARO" list --matrix | awk '$1 == "linucb" || $1 == "pe" {for (i = 3; i <= NF; i++) print $2, $i}' | sort -u)
  [ "$(jq -r '.audits[] | select(.setting == "plain") | .release + " " + .calibration' <<<"$output" | sort)" = "$offered" ]
  [ "$(jq -r '[.audits[] | select(.proven and .verdict != "consistent")] | length' <<<"$output")" -eq 0 ]
  [ "$(jq '.trials' <<<"$output")" -eq 4000 ]
  # the stated confidence is that of all audits together
  [ "$(jq '[.audits[] | 1 - .confidence] | add | . < 0.01000001 and . > 0.00999999' <<<"$output")" = true ]
  # every setting is played, with a quarter of the runs, and every release that hides anything in several
  [ "$(jq -r '[.audits[].setting] | unique | length' <<<"$output")" -eq 15 ]
  [ "$(jq -r '[.audits[] | select(.setting == "later") | .trials] | unique | join(" ")' <<<"$output")" = 1000 ]
  [ "$(jq -r '[.audits | group_by(.release)[] | select(.[0].release != "none") | [.[].setting] | unique | length] | min >= 7' <<<"$output")" = true ]
  [ "$(jq -r '[.audits[] | select(.setting == "deployed") | .release] | length' <<<"$output")" -eq 12 ]
  # one calibration
  faro 0 audit all --calibration paper --trials 1000 --json
  [ "$(jq -r '[.audits[].calibration] | unique | join(" ")' <<<"$output")" = paper ]
  [ "$(jq -r '[.audits[].setting] | unique | join(" ")' <<<"$output")" = "ball blocks crowd later numbers plain returning" ]
}

@test "a user who returns: covered by a user-level claim, not by one at event level" {
  faro 0 audit central-tree --calibration tight --level user --contributions 4 --batch 5 --trials 4000
  has "$output" "Claims are at user level, for 4 rounds of a user."
  faro 0 audit central-tree --level user --contributions 4 --batch 5 --trials 4000 --json
  [ "$(jq -c '[.audits[] | [.calibration, .level, .contributions]]' <<<"$output")" = '[["paper","user",4],["tight","user",4]]' ]
  faro 1 audit central-tree --calibration tight --visits 4 --batch 5 --trials 4000
  has "$output" "The victim comes 4 times."
  has "$output" violated
  faro 3 audit local --contributions 4 --trials 1000
  has "$stderr" "contributions must be 1 under level event (got 4)"
  faro 3 audit local --level user --calibration figure --trials 1000
  has "$stderr" "level must be event under calibration figure"
  faro 2 audit local --level usr
  has "$stderr" "--level must be one of event, user (got usr; did you mean user?)"
}

@test "settings reach the release, and the seed decides" {
  faro 0 audit local --calibration paper --epsilon 4 --delta 1e-3 --dimension 3 --batch 5 --horizon 50 \
    --trials 4000 --confidence 0.9 --seed 7 --json
  local first=$output
  [ "$(jq '[.trials, .confidence, .audits[0].epsilon, .audits[0].delta] == [4000, 0.9, 4, 0.001]' <<<"$output")" = true ]
  faro 0 audit local --calibration paper --epsilon 4 --delta 1e-3 --dimension 3 --batch 5 --horizon 50 \
    --trials 4000 --confidence 0.9 --seed 7 --json
  [ "$output" = "$first" ]
}

@test "settings: one of them, or all, on any number of threads" {
  faro 0 audit central-tree --setting deployed --trials 4000 --jobs 1
  [[ $output =~ central-tree\ +deployed\ +\(1,\ 0.1\)\ +[0-9.]+\ +[0-9.]+\ +consistent ]]
  has "$output" "central-tree, tight, deployed: the best attack (Gaussian: "
  local one=$output
  faro 0 audit central-tree --setting deployed --trials 4000 --jobs 3
  [ "$output" = "$one" ]
  faro 0 audit local-gaussian --setting all --calibration tight --trials 4000 --json
  [ "$(jq -r '[.audits[].setting] | join(" ")' <<<"$output")" = "plain growing returning rewards blocks logistic numbers ball deployed campaign" ]
  faro 0 audit central --delta 1e-6 --calibration tight --trials 1000 # as people write it
  has "$output" "(1, 1e-6)"
  faro 3 audit concurrent-bits --setting growing --trials 1000
  has "$stderr" "faro: --setting growing: growth must be 1 for concurrent-bits (got 2)"
  faro 3 audit central --setting deployed --trials 1000
  has "$stderr" "faro: --setting deployed: central adds floating-point noise, so it is for simulation only"
  faro 2 audit all --setting crowd --batch 10 --crowd 5 --trials 1000
  has "$stderr" "--setting: with these options no release is played in crowd"
  faro 2 audit central --setting grown
  has "$stderr" "did you mean growing?"
}

@test "a setting is played only under its own name: where it does not apply it is refused" {
  faro 2 audit local --setting crowd
  has "$stderr" "--setting crowd is not for local, only for shuffle-laplace"
  faro 2 audit central --setting dishonest --calibration tight
  has "$stderr" "--setting dishonest is not for central, only for shuffle-bits, concurrent-bits, "
  faro 2 audit none --setting growing
  has "$stderr" "--setting growing is not for none, which adds no noise"
  local release
  for release in all shuffle-bits; do
    faro 2 audit $release --setting deployed --calibration paper --trials 1000
    has "$stderr" "--setting deployed is played under --calibration tight alone"
  done
}

@test "the column of settings is headed so, and names the calibration" {
  faro 0 audit central --setting ball --calibration paper --trials 1000
  [[ $output =~ "release, paper    setting     claim " ]]
  not has "$output" "release           calibration"
  faro 0 audit local-gaussian --setting all --calibration tight --trials 1000
  has "$output" "release           calibration claim "
  has "$output" $'\nrelease, tight    setting     claim '
}

@test "usage: what is wrong, and what is allowed" {
  faro 2 audit
  has "$stderr" "expected one of: none, "
  faro 2 audit local none
  has "$stderr" "unexpected argument none"
  faro 2 audit locl
  has "$stderr" 'unknown release "locl" (did you mean local?); expected one of: none, '
  faro 2 audit local --calibration tigth
  has "$stderr" "did you mean tight?"
  faro 2 audit local --trails 5
  has "$stderr" "unknown option --trails (did you mean --trials?)"
  local option
  for option in epsilon=0 epsilon=nan epsilon=1x epsilon= delta=1 delta=-1 dimension=0 dimension=2.5 batch=0 batch=x \
    horizon=0 horizon=99999999999999999999 contributions=0 visits=x crowd=0 honest=0 honest=1.5 trials=999 trials=-5 confidence=1 confidence=0.2 jobs=0 jobs=257 seed=-1 seed=; do
    faro 2 audit local "--$option"
    has "$stderr" "--${option%%=*} must be"
    local value=${option#*=}
    has "$stderr" "(got ${value:-nothing})"
    [ -z "$output" ]
  done
}

@test "what the release refuses: status 3" {
  faro 3 audit shuffle-bits --batch 1
  has "$stderr" "batch must be at least 2 for shuffle-bits (got 1)"
  faro 3 audit local --batch 100 --horizon 50
  has "$stderr" "batch must be at most the horizon, 50 (got 100)"
}

@test "output that cannot be written is an error" {
  [ -c /dev/full ] || skip "no /dev/full"
  # shellcheck disable=SC2016
  run bash -c '"$0" audit local --calibration paper --trials 1000 >/dev/full' "$FARO"
  [ "$status" -eq 4 ]
}
