# faro report: figures for papers, their formats, and runs that are not finished.

load support

setup() {
  faro_setup
  faro 0 run 000-fig1 --set horizon=50 --set instances=2 --set epsilon=1 --out "$T/a"
}
teardown() { faro_teardown; }

@test "figures for one and two columns lie beside the one for screens" {
  cp "$T/a/000-fig1.svg" "$T/screen.svg"
  faro 0 report "$T/a" --figure one-column
  has "$output" "figure: $T/a/000-fig1-one-column.svg"
  has "$output" "for its caption: Cumulative pseudo-regret against rounds. Lines: mean over 2 instances, too few for an interval."
  grep -q 'width="336"' "$T/a/000-fig1-one-column.svg"
  faro 0 report "$T/a" --figure two-column
  grep -q 'width="672"' "$T/a/000-fig1-two-column.svg"
  cmp "$T/a/000-fig1.svg" "$T/screen.svg"
  faro 2 report "$T/a" --figure three-column
  has "$stderr" "--figure must be one of screen, one-column, two-column"
  faro 2 report "$T/a" --json --pdf
  has "$stderr" "--json prints results only"
}

@test "PDF and PNG are made by rsvg-convert, and its absence is told" {
  run --separate-stderr env PATH=/nowhere "$FARO" report "$T/a" --pdf
  [ "$status" -eq 4 ]
  has "$stderr" "rsvg-convert is not installed; on Debian: apt-get install librsvg2-bin"
  mkdir "$T/bin"
  printf '#!/bin/sh\necho "$@" >>"%s/calls"\n' "$T" >"$T/bin/rsvg-convert"
  chmod +x "$T/bin/rsvg-convert"
  PATH="$T/bin:$PATH" faro 0 report "$T/a" --figure one-column --pdf --png
  has "$output" "figure: $T/a/000-fig1-one-column.pdf"
  [ "$(wc -l <"$T/calls")" -eq 2 ]
  grep -q -- "--format pdf .*--output $T/a/000-fig1-one-column.pdf $T/a/000-fig1-one-column.svg" "$T/calls"
  grep -q -- "--format png --zoom=3.125 .*--output $T/a/000-fig1-one-column.png" "$T/calls"
  printf '#!/bin/sh\nexit 1\n' >"$T/bin/rsvg-convert"
  PATH="$T/bin:$PATH" faro 4 report "$T/a" --png
  has "$stderr" "rsvg-convert failed"
}

@test "a real PDF is as wide as a column" {
  command -v rsvg-convert >/dev/null || skip "there is no rsvg-convert"
  faro 0 report "$T/a" --figure one-column --pdf
  grep -aq 'MediaBox \[ 0 0 252 ' "$T/a/000-fig1-one-column.pdf"
}

@test "a run that is not finished says so, and how to go on" {
  mv "$T/a/run.json" "$T/run.json"
  : >"$T/a/instances.journal"
  faro 3 report "$T/a"
  has "$stderr" "the run is not finished"
  has "$stderr" "the \`faro run\` command that began it continues from there"
}
