# faro data: what it lists, how it says what is missing, and (slow) the real files, where the packages are there.

load support

setup() { faro_setup; }
teardown() { faro_teardown; }

# A PATH in which dpkg-query knows no package: missing FILE-OF-PROGRAMS
without_packages() {
  mkdir -p "$T/bin"
  printf '#!/bin/sh\nexit 1\n' >"$T/bin/dpkg-query"
  chmod +x "$T/bin/dpkg-query"
  PATH="$T/bin:$PATH" run --separate-stderr "$FARO" "$@"
}

@test "faro data lists the sets, each of which has an experiment" {
  faro 0 data
  local name
  for name in shuttle mushroom digits movielens star; do
    grep -q "^  $name " <<<"$output"
    [ -e "experiments/real-$name.yaml" ]
    grep -q "file: data/$name.csv" "experiments/real-$name.yaml"
  done
  [ "$(grep -c '^  ' <<<"$output")" -eq 5 ]
}

@test "a set that is not there is named, with the nearest" {
  faro 2 data shuttel
  has "$stderr" "shuttel"
  has "$stderr" "shuttle"
  faro 2 data shuttle star
}

@test "a missing package is named with the command that installs it, and nothing is written" {
  without_packages data shuttle --out "$T/data"
  [ "$status" -eq 3 ]
  has "$stderr" "apt-get install --no-install-recommends r-base-core r-cran-mlbench"
  has "$stderr" "faro data shuttle --install"
  gone "$T/data/shuttle.csv"
  gone "$T/data/shuttle.csv.new"
  without_packages data mushroom --out "$T/data"
  [ "$status" -eq 3 ]
  has "$stderr" "faro: mushroom is in the Debian source package xgboost; fetch it, in a temporary folder, with: faro data mushroom --install"
  not has "$stderr" "apt-get" # which needs deb-src lines
  [ -z "$(ls "$T/data")" ]
}

@test "a folder that cannot be made is an error" {
  : >"$T/file"
  faro 4 data shuttle --out "$T/file/data"
  has "$stderr" "cannot be created"
}

@test "the file that an experiment lacks is named with the command that writes it" {
  mkdir "$T/empty"
  cp -r experiments "$T/empty/"
  cd "$T/empty"
  faro 3 run real-star
  has "$stderr" "data/star.csv: cannot be read"
  has "$stderr" '`faro data star` writes it'
}

# The licence of the file allows a slice here: tests/data/mushroom-slice.data is 200 of its lines.
@test "mushroom is converted: names of columns, words, the licence beside it" {
  FARO_MUSHROOM="$PWD/tests/data/mushroom-slice.data" faro 0 data mushroom --out "$T/data"
  has "$output" "licence:  Apache-2.0"
  has "$output" "200 rows"
  [ "$(wc -l <"$T/data/mushroom.csv")" -eq 201 ]
  [ "$(awk -F, '{ print NF }' "$T/data/mushroom.csv" | sort -u)" -eq 23 ]
  [ "$(tail -n +2 "$T/data/mushroom.csv" | cut -d, -f1 | sort -u | tr '\n' ' ')" = "edible poisonous " ]
  not grep -q '?' "$T/data/mushroom.csv"
  grep -q "Apache-2.0" "$T/data/mushroom.txt"
  cp -r experiments "$T/"
  cd "$T"
  faro 0 run real-mushroom --quick --set epsilon=1 --out "$T/run"
  has "$output" "arms 2"
  faro 0 verify "$T/run"
}

@test "all sets are written, run and verified where R and its packages are there" {
  slow_test
  local name rows
  for name in shuttle:58000 movielens:99997 star:5765; do
    rows=${name#*:} name=${name%:*}
    run --separate-stderr "$FARO" data "$name" --out "$T/data"
    if [ "$status" -eq 3 ]; then
      echo "# $name is left out: ${stderr_lines[*]}" >&3
      continue
    fi
    [ "$status" -eq 0 ]
    [ "$(wc -l <"$T/data/$name.csv")" -eq $((rows + 1)) ]
    grep -q "licence:" "$T/data/$name.txt"
    cp -r experiments "$T/"
    (cd "$T" && "$FARO" run "real-$name" --quick --out "$T/run-$name" && "$FARO" verify "$T/run-$name")
  done
}
