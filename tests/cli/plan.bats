# faro plan: what it prints, what it writes, and what it refuses.

load support

setup() { faro_setup; }
teardown() { faro_teardown; }

small=(--users 1000 --dimension 2 --arms 3 --epsilon 2 --contexts fixed --instances 2 --quiet)

@test "plan names a release, its regret, and the command that simulates it" {
  faro 0 plan "${small[@]}" --trust shuffler
  has "$output" "1000 users, 2 features, 3 arms, fixed contexts, linear rewards"
  has "$output" "Random play incurs a regret of"
  has "$output" "A trusted shuffler"
  has "$output" "Use shuffle-"
  has "$output" "--trust shuffler --write plan.yaml"
  [ -z "$stderr" ]
}

@test "plan wraps its sentences, and names no refusal unless asked" {
  COLUMNS=70 faro 0 plan --users 100 --dimension 2 --arms 3 --epsilon 0.01 --trust shufflers --instances 2 --quiet
  [ "$(grep -v '\.\. \|  sends  ' <<<"$output" | grep -v 'faro plan' | wc -L)" -le 70 ]
  not has "$output" "cannot run here"
  faro 0 plan --users 100 --dimension 2 --arms 3 --epsilon 0.01 --trust shufflers --instances 2 --quiet --all
  has "$output" "cannot run here"
}

@test "plan says when nothing is learnt, and what a user sends" {
  slow_test
  faro 0 plan --users 300 --dimension 10 --arms 20 --epsilon 0.1 --quiet
  has "$output" "It learns nothing that could be seen"
  has "$output" "332 B  shuffle-bits"
  has "$output" "Each user sends 160 B."
  has "$output" "Everybody was simulated."
}

@test "plan counts on nine tenths of a batch, unless told otherwise" {
  faro 0 plan "${small[@]}" --trust shuffler
  has "$output" "guarantee: (2, 1e-6) for each round, even if 10 % of a batch collude with the server"
  faro 0 plan "${small[@]}" --trust shuffler --honest 1
  not has "$output" "collude"
  faro 0 plan "${small[@]}" --trust shuffler --json
  jq -e '.problem.honest == 0.9 and (.plans | all(.experiment | contains("honest: 0.9\n")))' <<<"$output"
  local noise='[.plans[] | select(.release == "shuffle-bits" and .learner == "linucb")][0] | .noise * (.batch | sqrt)'
  local nine; nine=$(jq "$noise" <<<"$output")
  faro 0 plan "${small[@]}" --trust shuffler --honest 0.1 --json
  jq -e --argjson nine "$nine" "($noise) > \$nine" <<<"$output"
  faro 2 plan "${small[@]}" --honest 0
}

@test "what plan writes can be run" {
  faro 0 plan "${small[@]}" --trust server --write "$T/plan.yaml"
  has "$output" "faro run $T/plan.yaml"
  has "$(head -1 "$T/plan.yaml")" "Planned: 1000 users, 2 features, 3 arms"
  faro 0 run "$T/plan.yaml" --set instances=2 --quiet --json --out "$T/out"
  [ "$(jq '.results | length' <<<"$output")" = 2 ]
}

@test "plan --json has numbers, a claim and an experiment for every choice, and is the same every time" {
  faro 0 plan "${small[@]}" --trust nobody --json
  jq -e '.problem.users == 1000 and .uniform > 0 and .simulated == false and (.plans | length > 1)
    and (.plans | all(.trust == "nobody" and .regret.low < .regret.mean and .regret.mean < .regret.high
      and .bytes > 0 and .updates > 0 and .batch > 0 and .claim.proven == true and (.experiment | length > 0)))' <<<"$output"
  local first=$output
  faro 0 plan "${small[@]}" --trust nobody --json --jobs 1 --users 1e3
  [ "$output" = "$first" ]
}

@test "plan --simulate plays everybody" {
  faro 0 plan "${small[@]}" --trust server --simulate --json
  jq -e '.simulated == true and .error == 1 and (.plans | length > 1)' <<<"$output"
}

@test "plan compares every trust model" {
  slow_test
  faro 0 plan "${small[@]}" --contributions 4
  has "$output" "1000 users who take part 4 times each"
  has "$output" "everything that one user does"
  for title in "A trusted server" "A trusted shuffler" "Several shufflers" "Nobody is trusted"; do has "$output" "$title"; done
}

@test "plan refuses what it cannot plan, and says what is allowed" {
  faro 2 plan --users 1000 --dimension 2 --arms 3
  has "$stderr" "--epsilon E is required"
  faro 2 plan "${small[@]}" --trust shufler
  has "$stderr" "--trust must be one of any, server, shuffler, shufflers, nobody (got shufler"
  faro 2 plan "${small[@]}" --users 1000.5
  has "$stderr" "--users must be a whole number"
  faro 2 plan "${small[@]}" --users 5
  has "$stderr" "--users must be"
  faro 2 plan "${small[@]}" --delta 0
  has "$stderr" "--delta must be"
  faro 3 plan --users 1000 --dimension 200 --arms 100000 --epsilon 1
  has "$stderr" "arms x dimension must be"
}
