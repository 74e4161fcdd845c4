# States that an earlier version wrote in the middle of a campaign (tests/service/upgrade/make says what is in them): the
# roles of this version go on from there, and nothing is lost.

load support
load service

setup() { faro_setup; }
teardown() { faro_teardown; }

# A copy of the states: unpack WHICH; the rest of the test is in its folder
unpack() {
  tar -C "$T" --no-same-owner -xzf tests/service/upgrade/previous.tar.gz
  cd "$T/$1"
}

# The analyzer, at the address in the campaign. Another run of this test may have it: the port is the lock.
analyzer() {
  local i
  for ((i = 0; i < 12000; i++)); do
    role analyzer analyzer analyzer.yaml && break
    grep -q "already in use" "$T/analyzer.log" || return 1
    sleep 0.1
  done
  analyzer_url=http://127.18.0.1:18400
}

# A round: round I [OPTION...]
round() { run --separate-stderr "$FARO" client --config "$1.yaml" "${@:2}" <<<"$(printf '1 0; 0 1\n0.5\n')"; }

version() {
  local i
  for ((i = 0; i < 12000; i++)); do
    "$FARO" client --config 5.yaml --honest 1 --show | grep -q "^policy: *version $1\$" && return 0
    sleep 0.02
  done
  return 1
}

# The first row of the ledger is the one that the earlier version wrote.
same_row() {
  local row=$(sed -n 's/.*"rows": *\[\({[^}]*\)}.*/\1/p' ledger.json)
  [ -n "$row" ]
  faro 0 ledger explain --json "$@"
  has "$output" "$row"
}

@test "upgrade: a shuffled campaign with a waiting batch and an open one" {
  unpack shuffled
  faro 0 analyzer --check-config --config analyzer.yaml # reads the old state and leaves it alone
  has "$output" "it is in the database"
  faro 0 shuffler --check-config --config shuffler.yaml
  same_row --database analyzer.db
  analyzer
  role shuffler shuffler shuffler.yaml
  has "$(cat "$T/shuffler.log")" '"batch":2,"held":1,'
  version 3 # the batch that waited
  same_row --url "$analyzer_url"
  has "$output" '"charged":2'

  round 4 # its report is still in the open batch
  [ "$status" -eq 0 ]
  has "$stderr" "1 report waits in 4.state for the next run: a client is in a batch at most once"
  sed -i 's/ 2 2$/ 0 2/' 2.state # its numbers are still known
  round 2
  [ "$status" -eq 1 ]
  has "$stderr" "the sequence number was used before"
  round 1
  [ "$status" -eq 0 ]
  [ "$(kept 1.state)" = "3 3" ]
  round 5 --honest 1 # a new client, in a campaign of the time when 1 was the default
  [ "$status" -eq 0 ]
  version 4
  round 1 # three reports, two of them before
  [ "$status" -eq 1 ]
  has "$stderr" "as many reports as the campaign allows"
  same_row --url "$analyzer_url"
  has "$output" '"charged":3'
  faro 0 ledger verify --url "$analyzer_url" --key analyzer.sign.public # with the row from before
}

@test "upgrade: a campaign without a shuffler" {
  unpack direct
  analyzer
  same_row --url "$analyzer_url"
  has "$output" '"charged":1'
  round 1
  [ "$status" -eq 0 ]
  has "$stderr" "1 report waits in 1.state for the next run: a client is in a batch at most once"
  round 3
  [ "$status" -eq 0 ]
  version 3
  same_row --url "$analyzer_url"
  has "$output" '"charged":2'
}
