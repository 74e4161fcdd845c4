#!/bin/sh
# sum.sh FARO [VALUES]: values a second of `faro sum`, beside `wc -l` on the same file. Times are those of the processor.
set -eu
faro=$1
values=${2:-10000000}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The file of a million lines, as often as makes VALUES.
repeat() {
  i=0
  while [ "$i" -lt $((values / 1000000)) ]; do cat "$1" && i=$((i + 1)); done >"$2"
}

# Seconds of the processor: cost COMMAND...
cost() { bash -c 'TIMEFORMAT="%U %S"; time "$@" >/dev/null' cost "$@" 2>&1 | awk '{print $1 + $2}'; }

row() {
  name=$1
  shift
  seconds=$(cost "$@")
  echo "$name $seconds" | awk -v n="$values" '{printf "%-28s %6.2f s  %7.1f million/s\n", $1, $2, n / 1e6 / ($2 + 1e-9)}'
}

awk 'BEGIN {srand(1); for (i = 0; i < 1000000; i++) printf "%.4f\n", rand()}' >"$work/real1"
awk 'BEGIN {srand(1); for (i = 0; i < 1000000; i++) print int(2 * rand())}' >"$work/bits1"
awk '{print "user," $1 ",x," 1 - $1}' "$work/real1" >"$work/csv1"
for kind in real bits csv; do repeat "$work/${kind}1" "$work/$kind"; done

echo "faro sum, $values lines, processor time"
row wc-l wc -l "$work/real"
row values "$faro" sum --quiet --horizon "$values" --range 0,1 "$work/real"
row values,unknown-horizon "$faro" sum --quiet --range 0,1 "$work/real"
row binary "$faro" sum --quiet --horizon "$values" --binary "$work/bits"
row csv,two-columns "$faro" sum --quiet --horizon "$values" --range 0,1 --column 2,4 "$work/csv"
