# faro run --shard and faro merge: several processes, one result.

load support

setup() {
  faro_setup
  # whatever started these tests is not what is tested
  unset "${!OMPI_@}" "${!PMI_@}" "${!SLURM_@}" PBS_ARRAY_INDEX PARALLEL_SEQ
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
}
teardown() { faro_teardown; }

same_results() {
  cmp "$1/summary.csv" "$2/summary.csv"
  cmp "$1/curves.csv" "$2/curves.csv"
  cmp "$1/experiment.yaml" "$2/experiment.yaml"
  # the same files, and nothing left of the shards
  [ "$(ls -A "$1")" = "$(ls -A "$2")" ]
}

# All shards of N, one after the other: shards N DIR ARGUMENT...
shards() {
  local n=$1 dir=$2 number # not i: `run` has one of its own
  shift 2
  for ((number = 1; number <= n; number++)); do
    faro 0 run 000-fig1 "${tiny[@]}" "$@" --shard "$number/$n" --out "$dir"
  done
}

@test "three shards make what one process makes, to the byte" {
  faro 0 run 000-fig1 "${tiny[@]}" --out "$T/one"
  shards 3 "$T/a"
  [ -z "$output$stderr" ] # --quiet
  faro 0 run "$T/a" --shard 3/3
  [ "${lines[0]}" = "shard 3 of 3: 13 instances are finished, 13 of them by an earlier run; saved in $T/a/instances.3-of-3.journal" ]
  [ "${lines[1]}" = "when all shards are finished: faro merge $T/a" ]
  gone "$T/a/summary.csv"
  faro 0 merge "$T/a"
  has "$output" "report: $T/a/report.html"
  [ -z "$stderr" ]
  same_results "$T/a" "$T/one"
  jq -e --arg command "faro merge $T/a" '.command == $command and .resumed_instances == 39' "$T/a/run.json"
  # what was merged can be repeated
  faro 0 rerun "$T/a" --quiet
  # and there is nothing left to merge or to play
  for again in "merge $T/a" "run $T/a --shard 2/3" "run 000-fig1 --set horizon=300 --set instances=3 --shard 2/3 --out $T/a"; do
    # shellcheck disable=SC2086
    faro 0 $again
    [ "$output" = "already merged: the results in $T/a are complete" ]
    [ -z "$stderr" ]
  done
  faro 0 merge "$T/a" --json
  [ -z "$output" ]
  has "$stderr" "already merged"
  faro 0 run "$T/a" --shard 1/3 --quiet
  [ -z "$output$stderr" ]
  same_results "$T/a" "$T/one"
  # unless it is asked for
  faro 0 run 000-fig1 "${tiny[@]}" --shard 2/3 --out "$T/a" --fresh
  [ -s "$T/a/instances.2-of-3.journal" ]
  faro 3 merge "$T/a"
  has "$stderr" "shards of 3 with missing instances: 1,3"
}

@test "merge prints JSON and CSV as run does" {
  slow_test
  shards 2 "$T/a"
  cp -r "$T/a" "$T/b"
  faro 0 merge "$T/a" --csv
  printf '%s\n' "$output" | cmp - "$T/a/summary.csv"
  faro 0 merge "$T/b" --json
  jq -e '.results | length == 15' <<<"$output"
  same_results "$T/a" "$T/b"
}

@test "what is missing is named, with the command that plays it" {
  check_test
  shards 4 "$T/a b"
  rm "$T/a b/instances.3-of-4.journal"
  truncate -s -100 "$T/a b/instances.2-of-4.journal"
  faro 3 merge "$T/a b"
  [ -z "$output" ]
  [ "${stderr_lines[0]}" = "faro: 11 of 39 instances are missing" ]
  [ "${stderr_lines[1]}" = "these play them; then merge again:" ]
  has "${stderr_lines[2]}" "  faro run '$T/a b' --shard 2/4    # 1 instance, the first: "
  has "${stderr_lines[3]}" "  faro run '$T/a b' --shard 3/4    # 10 instances, the first: LinUCB-LDP (epsilon 0.2), instance 0"
  [ "${stderr_lines[4]}" = "shards of 4 with missing instances: 2-3" ]
  gone "$T/a b/summary.csv"
  # the commands, as they are printed
  PATH="$(dirname "$FARO"):$PATH" bash -e <<<"$(printf '%s\n' "${stderr_lines[@]:2:2}")"
  faro 0 merge "$T/a b"
  faro 0 run 000-fig1 "${tiny[@]}" --out "$T/one"
  same_results "$T/a b" "$T/one"
}

@test "a run without shards takes what shards have played, and plays the rest" {
  check_test
  faro 0 run 000-fig1 "${tiny[@]}" --out "$T/one"
  faro 0 run 000-fig1 "${tiny[@]}" --shard 2/3 --out "$T/a"
  faro 0 run 000-fig1 --set horizon=300 --set instances=3 --out "$T/a"
  has "$stderr" "faro: 13 of 39 instances were saved by an earlier run"
  same_results "$T/a" "$T/one"
  faro 0 run 000-fig1 "${tiny[@]}" --shard 2/3 --out "$T/b"
  faro 0 run "$T/b" --quiet
  same_results "$T/b" "$T/one"
  jq -e '.resumed_instances == 13 and .overrides == ["horizon=300", "instances=3"]' "$T/b/run.json"
}

@test "a shard that ends after the whole run was merged does not say that it was saved" {
  check_test
  local instances
  for instances in 320 1280; do # a machine that was too fast gets a longer run
    rm -rf "$T/a"
    command=(--set epsilon=1 --set horizon=1000 --set "instances=$instances")
    start "$T/a" --jobs 1 "${command[@]}" --shard 1/2
    passed "$T/a/instances.1-of-2.journal" 2000 && kill -STOP "$pid" && break
    finish
  done
  faro 0 run 000-fig1 "${command[@]}" --quiet --out "$T/a"
  kill -CONT "$pid"
  finish
  [ "$ended" -eq 0 ]
  grep -q "^shard 1 of 2: [0-9]* instances are finished, and not needed: the results in $T/a are complete$" "$T/a.stdout"
  [ "$(wc -l <"$T/a.stdout")" -eq 1 ]
  gone "$T/a/shards.json"
}

@test "there may be more shards than instances" {
  faro 0 run 000-fig1 --set horizon=300 --set instances=3 --shard 50/100 --out "$T/a"
  [ "${lines[0]}" = "shard 50 of 100: 0 instances are finished; saved in $T/a/instances.50-of-100.journal" ]
  faro 0 run "$T/a" --shard 3/100
  has "$output" "shard 3 of 100: 1 instance is finished; saved in"
}

@test "a shard whose journal was removed says so" {
  local instances
  for instances in 320 1280; do # a shard that was too fast ends before it looks
    rm -rf "$T/a"
    start "$T/a" --jobs 1 --set epsilon=1 --set horizon=1000 --set "instances=$instances" --shard 1/2
    passed "$T/a/instances.1-of-2.journal" 2000 && rm "$T/a/instances.1-of-2.journal"
    finish
    [ "$ended" -eq 0 ] || break
  done
  [ "$ended" -eq 4 ]
  grep -q "instances.1-of-2.journal: was removed while its shard was played; run it again" "$T/a.stderr"
}

@test "shards of several numbers mix, and a shard twice is a shard" {
  slow_test
  shards 2 "$T/a"
  faro 0 run 000-fig1 --set horizon=300 --set instances=3 --shard 2/2 --out "$T/a"
  has "$output" "shard 2 of 2: 19 instances are finished, 19 of them by an earlier run"
  faro 0 run 000-fig1 "${tiny[@]}" --shard 5/7 --out "$T/a"
  faro 0 merge "$T/a"
  faro 0 run 000-fig1 "${tiny[@]}" --out "$T/one"
  same_results "$T/a" "$T/one"
}

@test "--fresh plays a shard again" {
  slow_test
  faro 0 run 000-fig1 "${tiny[@]}" --shard 2/7 --out "$T/a"
  faro 0 run 000-fig1 "${tiny[@]}" --shard 2/7 --fresh --out "$T/a"
  not grep -q "earlier run" <<<"$output"
  faro 0 run 000-fig1 "${tiny[@]}" --fresh --out "$T/a"
  gone "$T/a/instances.2-of-7.journal"
  gone "$T/a/shards.json"
}

@test "standard input can be sharded, and by default the folder is that of the experiment" {
  local i
  cd "$T"
  for i in 1 2; do
    "$FARO" run - --set horizon=100 --set instances=2 --quiet --shard "$i/2" <"$OLDPWD/experiments/000-fig1.yaml"
  done
  faro 0 merge "results/stdin,horizon=100,instances=2"
  [ -s "results/stdin,horizon=100,instances=2/summary.csv" ]
}

@test "a folder is of one experiment" {
  shards 1 "$T/a"
  faro 3 run 000-fig1 "${tiny[@]}" --set horizon=301 --shard 1/2 --out "$T/a"
  has "$stderr" "$T/a: holds the results of another experiment or of other settings; choose another --out"
  faro 3 run 000-fig2 "${tiny[@]}" --out "$T/a"
  faro 3 run "$T/a" --shard 1/2 --set horizon=301
  has "$stderr" "--set, --quick and --out must be left out for a folder"
  faro 3 run "$T/a" --shard 1/2 --quick
  faro 3 merge "$T/nowhere"
  has "$stderr" "faro: $T/nowhere: no shards are there"
}

@test "wrong command lines are refused with what is allowed" {
  faro 2 run 000-fig1 --shard 0/4
  has "$stderr" "faro run: --shard must be I/N with I from 1 to N and N at most 1000000, auto, or auto/N (got 0/4)"
  faro 2 run 000-fig1 --shard 5/4
  faro 2 run 000-fig1 --shard 3
  faro 2 run 000-fig1 --shard
  has "$stderr" "--shard needs a value"
  faro 2 run 000-fig1 --shards 1/2
  has "$stderr" "unknown option --shards (did you mean --shard?)"
  faro 2 run 000-fig1 --shard 1/2 --json
  has "$stderr" "--shard prints no results; give --json or --csv to \`faro merge\` instead"
  faro 2 run 000-fig1 --shard 1/2 --dry-run
  has "$stderr" "--shard and --dry-run exclude each other"
  faro 2 run 000-fig1 --shard auto
  has "$stderr" "--shard auto needs one of these variables, and none is set: OMPI_COMM_WORLD_RANK"
  faro 2 merge
  has "$stderr" "DIR is required: the directory where shards were played"
  faro 2 merge a b
  faro 2 merge "$T" --json --csv
  has "$stderr" "--json and --csv exclude each other"
  faro 2 mrge "$T"
  has "$stderr" "did you mean merge?"
}

@test "--shard auto takes the variables of batch systems" {
  slow_test
  SLURM_ARRAY_TASK_ID=0 SLURM_ARRAY_TASK_COUNT=3 SLURM_ARRAY_TASK_MIN=0 SLURM_ARRAY_TASK_MAX=2 \
    faro 0 run 000-fig1 "${tiny[@]}" --shard auto --out "$T/a"
  PBS_ARRAY_INDEX=2 faro 0 run 000-fig1 "${tiny[@]}" --shard auto/3 --out "$T/a"
  PMI_RANK=2 PMI_SIZE=3 faro 0 run 000-fig1 "${tiny[@]}" --shard auto --out "$T/a"
  faro 0 merge "$T/a"
}

@test "a journal from another kind of machine, or a record that differs, is refused by name" {
  check_test
  shards 2 "$T/a"
  cp "$T/a/instances.1-of-2.journal" "$T/kept"
  sed -i 's/ fma=\(yes\|no\)/ fma=old/' "$T/a/instances.1-of-2.journal"
  faro 3 merge "$T/a"
  has "$stderr" "$T/a/instances.1-of-2.journal: its instances were played on another kind of machine (fma is old there and "
  # a part of 2 under a name of 3 is a duplicate; with other values it is not
  cp "$T/kept" "$T/a/instances.1-of-2.journal"
  faro 0 run 000-fig1 "${tiny[@]}" --set seed=2 --shard 1/2 --out "$T/b"
  local head=192
  { head -c $head "$T/kept" && tail -c +$((head + 1)) "$T/b/instances.1-of-2.journal"; } >"$T/a/instances.1-of-3.journal"
  faro 3 merge "$T/a"
  # which record comes first depends on the threads
  has "$stderr" "faro: instances.1-of-2.journal and instances.1-of-3.journal disagree about LinUCB"
  has "$stderr" "), instance 0: one of them was made by a machine that computes differently"
  gone "$T/a/summary.csv"
  rm "$T/a/instances.1-of-3.journal"
  faro 0 merge "$T/a"
}

@test "people from a file stay where they are, beside the experiment" {
  check_test
  mkdir "$T/there"
  cat >"$T/there/people.yaml" <<'YAML'
instances: 3
environment: {name: rows, file: people.csv, label: class}
algorithms: [{learner: greedy, release: central-factored}, {learner: posterior, release: none}]
YAML
  awk 'BEGIN { print "age,height,class"; for (i = 0; i < 300; i++) print i % 7 / 7 "," i % 11 / 11 "," (i % 7 > 3 ? "a" : "b") }' \
    >"$T/there/people.csv"
  faro 0 run "$T/there/people.yaml" --quiet --out "$T/one"
  faro 0 run "$T/there/people.yaml" --quiet --out "$T/a" --shard 1/2
  faro 0 run "$T/a" --quiet --shard 2/2
  faro 0 merge "$T/a"
  same_results "$T/a" "$T/one"
  # other people are another experiment
  faro 0 run "$T/there/people.yaml" --quiet --out "$T/b" --shard 1/2
  sed -i 's/,a$/,b/; 2s/,b$/,a/' "$T/there/people.csv"
  faro 3 merge "$T/b"
  has "$stderr" "$T/b: $T/there/people.csv has changed since its shards were played"
  faro 1 rerun "$T/a" --quiet
  has "$output" "$T/there/people.csv, which it reads, has changed since"
  faro 0 run 000-fig1 "${tiny[@]}" --shard 1/2 --out "$T/c"
  sed -i 's/^horizon: .*/horizon: 77/' "$T/c/experiment.yaml"
  jq '.overrides = []' "$T/c/shards.json" >"$T/shards" && mv "$T/shards" "$T/c/shards.json"
  faro 3 merge "$T/c"
  has "$stderr" "$T/c: the experiment has changed since its shards were played"
}

# ---- interruptions

# Waits, up to two minutes, for a file to pass some bytes while pid is alive: passed FILE BYTES
passed() {
  local i size
  for ((i = 0; i < 6000; i++)); do
    size=$(stat -c %s "$1" 2>/dev/null || echo 0)
    [ "$size" -gt "$2" ] && return 0
    kill -0 "$pid" 2>/dev/null || return 1
    sleep 0.02
  done
  return 1
}

@test "a shard that is killed, or interrupted, loses its unfinished instance only" {
  check_test
  local signal instances kept
  for signal in KILL ${FARO_SLOW_TESTS:+INT}; do
    for instances in 60 240 960; do # a machine that was too fast gets a longer run
      rm -rf "$T/$signal"
      command=(--set epsilon=1 --set horizon=1000 --set "instances=$instances")
      start "$T/$signal" --jobs 1 "${command[@]}" --shard 2/3
      if passed "$T/$signal/instances.2-of-3.journal" 20000; then kill -$signal "$pid" || true; fi
      finish
      [ "$ended" -eq 0 ] || break
    done
    [ "$ended" -eq $([ $signal = KILL ] && echo 137 || echo 130) ]
    faro 0 run "$T/$signal" --shard 2/3
    kept=$(sed -n 's/^faro: \([0-9]*\) of [0-9]* instances were saved by an earlier run$/\1/p' <<<"$stderr")
    [ "$kept" -ge 1 ]
    faro 0 run "$T/$signal" --shard 1/3 --quiet
    faro 0 run "$T/$signal" --shard 3/3 --quiet
    faro 0 merge "$T/$signal"
    faro 0 run 000-fig1 "${command[@]}" --quiet --out "$T/one-$signal"
    same_results "$T/$signal" "$T/one-$signal"
  done
}

@test "a full disk ends a shard with its reason, and what was saved counts" {
  slow_test
  run --separate-stderr bash -c "ulimit -f 8 && trap '' XFSZ && exec '$FARO' run 000-fig1 --quiet --set horizon=300 --set instances=3 --shard 1/2 --out '$T/a'"
  [ "$status" -eq 4 ]
  has "$stderr" "faro: $T/a/instances.1-of-2.journal: cannot be written: File too large"
  faro 0 run "$T/a" --shard 1/2
  has "$stderr" " of 20 instances were saved by an earlier run"
  faro 0 run "$T/a" --shard 2/2 --quiet
  faro 0 merge "$T/a"
  faro 0 run 000-fig1 "${tiny[@]}" --out "$T/one"
  same_results "$T/a" "$T/one"
}

@test "two processes of one shard: the second is refused" {
  check_test
  start "$T/a" --set instances=2000 --shard 1/2
  passed "$T/a/instances.1-of-2.journal" 5000
  faro 4 run "$T/a" --shard 1/2
  [ "$stderr" = "faro: $T/a/instances.1-of-2.journal: another run is writing there" ]
  faro 0 run 000-fig1 "${tiny[@]}" --shard 1/2 --out "$T/b" # another folder
  kill -INT "$pid"
  finish
  [ "$ended" -eq 130 ]
}

# ---- the real programs

# The process below $1 whose environment has the line $2.
process_with() {
  local child
  for child in $(pgrep -P "$1"); do
    if tr '\0' '\n' <"/proc/$child/environ" 2>/dev/null | grep -qx "$2" && [ "$(readlink "/proc/$child/exe")" = "$FARO" ]; then
      echo "$child"
      return
    fi
    process_with "$child" "$2"
  done
}

# Starts a launcher in the background, kills one of its processes in the middle, and waits for the launcher, which
# then reports a failure: kill_one DIR FILE VARIABLE=VALUE LAUNCHER...
kill_one() {
  local dir=$1 file=$2 line=$3 victim
  shift 3
  mkdir -p "$dir"
  "$@" >"$dir.stdout" 2>"$dir.stderr" 3>&- &
  pid=$!
  started+=("$pid")
  passed "$dir/$file" 8000 || true
  victim=$(process_with "$pid" "$line")
  if [ -n "$victim" ]; then kill -KILL "$victim" || true; fi
  finish
}

@test "16 shards by GNU parallel, one killed and run again" {
  slow_test
  command -v parallel >/dev/null || skip "GNU parallel is not installed"
  local instances
  for instances in 200 800; do
    rm -rf "$T/a"
    command=(000-fig1 --quiet --jobs 1 --set epsilon=1 --set horizon=2000 --set "instances=$instances")
    kill_one "$T/a" instances.1-of-16.journal PARALLEL_SEQ=1 \
      parallel -j 2 "$FARO" run "${command[@]@Q}" --out "$T/a" --shard '{}/16' ::: $(seq 16)
    [ "$ended" -eq 0 ] || break
  done
  [ "$ended" -eq 1 ] # one job has failed
  faro 3 merge "$T/a"
  has "$stderr" "shards of 16 with missing instances: 1"
  [ "$(grep -c 'faro run' <<<"$stderr")" -eq 1 ]
  parallel -n0 "$FARO" run "$T/a" --quiet --shard auto/16 ::: 1
  faro 0 merge "$T/a"
  faro 0 run "${command[@]}" --jobs 2 --out "$T/one"
  same_results "$T/a" "$T/one"
}

@test "2 ranks by mpirun, one killed and run again" {
  slow_test
  command -v mpirun >/dev/null || skip "mpirun is not installed"
  local instances
  for instances in 200 800 3200; do
    rm -rf "$T/a"
    command=(000-fig1 --quiet --jobs 1 --set epsilon=1 --set horizon=2000 --set "instances=$instances")
    kill_one "$T/a" instances.2-of-2.journal OMPI_COMM_WORLD_RANK=1 \
      mpirun -np 2 "$FARO" run "${command[@]}" --out "$T/a" --shard auto
    [ "$ended" -eq 0 ] || break
  done
  [ "$ended" -ne 0 ] # mpirun ends all ranks with the one that was killed
  faro 3 merge "$T/a"
  mpirun -np 2 "$FARO" run 000-fig1 "${command[@]:2}" --out "$T/a" --shard auto >"$T/again" # not --quiet
  grep -q "shard 2 of 2: .* by an earlier run" "$T/again"
  faro 0 merge "$T/a"
  faro 0 run "${command[@]}" --jobs 2 --out "$T/one"
  same_results "$T/a" "$T/one"
}
