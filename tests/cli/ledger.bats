# The ledger as evidence: what faro ledger verify accepts and refuses, over the network and in a file.

load support
load service

setup() { faro_setup; }
teardown() { faro_teardown; }

# A campaign with two batches applied; the analyzer and the shuffler run.
spent() {
  campaign
  role analyzer analyzer "$T/analyzer.yaml"
  role shuffler shuffler "$T/shuffler.yaml"
  round 1 0.5 && round 2 1
  version 2
  round 1 0 && round 3 0
  version 3
}

# The content of an answer: content PATH
content() { get "$analyzer_url" "$1" | sed '1,/^\r$/d'; }

# A server that gives out the files of a folder: files FOLDER; sets url
files() {
  : >"$T/files.log"
  python3 -u -m http.server --bind 127.0.0.1 -d "$1" 0 >"$T/files.log" 2>&1 3>&- &
  started+=("$!")
  local i port=
  for ((i = 0; i < 12000; i++)); do
    port=$(sed -n 's/.*port \([0-9]*\) .*/\1/p' "$T/files.log")
    [ -n "$port" ] && break
    sleep 0.01
  done
  url="http://127.0.0.1:$port"
}

@test "ledger: verified over the network and in the file" {
  spent
  faro 0 ledger verify --url "$analyzer_url" --key "$T/analyzer.sign.public" --since "$T/head"
  has "$output" "verified: the ledger of campaign walk, 2 rows"
  has "$output" "Charged: 2 of the 3 releases that the claim covers"
  faro 0 ledger verify --database "$T/analyzer.db" --key "$T/analyzer.sign.public" --since "$T/head"
  has "$output" "It begins with what was signed at the last check (2 rows)"
  faro 0 ledger explain --url "$analyzer_url" --key "$T/analyzer.sign.public"
  has "$output" "verified: signed by the pinned key"
  has "$output" ", proven: "
  faro 0 ledger explain --url "$analyzer_url"
  has "$output" "not verified: "
  has "$output" ", said to be proven: "
  faro 1 ledger verify --url "$analyzer_url" --key "$T/shuffler-0.sign.public"
  has "$stderr" "not verified: the signature is not the pinned key's"
  faro 2 ledger verify --url "$analyzer_url"
  has "$stderr" "--key FILE is required"
  faro 3 ledger verify --url "$analyzer_url" --key "$T/nowhere"

  # the chain, computed by another program from docs/protocol.md
  "$FARO" ledger explain --json --url "$analyzer_url" >"$T/ledger.json"
  content /v1/campaign >"$T/campaign"
  python3 - "$T/ledger.json" "$T/campaign" <<'PYTHON'
import hashlib, json, struct, sys
ledger = json.load(open(sys.argv[1]))
line, rest = open(sys.argv[2], "rb").read().split(b"\n", 1)
h = lambda b: hashlib.blake2b(b, digest_size=32).digest()
last = h(line.split(b" ")[0] + b"\n" + rest)
for r in ledger["rows"]:
    last = h(b"FRL1" + last + struct.pack("<QQQddQQQ", r["batch"], r["version"], r["users"], r["epsilon"], r["delta"],
        r["rounds"], r["charged"], ledger["batches"]["allowed"]) + r["when"].encode().ljust(24, b"\0"))
    assert last.hex() == r["hash"], r
head = json.loads(ledger["head"].split("\n", 1)[1])
assert head["rows"] == 2 and head["hash"] == last.hex(), head
PYTHON
}

@test "ledger: a server that forges is refused" {
  slow_test
  spent
  mkdir -p "$T/forged/v1"
  local path
  for path in campaign policy ledger; do content "/v1/$path" >"$T/forged/v1/$path"; done
  cp "$T/forged/v1/ledger" "$T/true"
  files "$T/forged"
  faro 0 ledger verify --url "$url" --key "$T/analyzer.sign.public" # a copy is as good

  sed 's/"charged":2,"allowed":3/"charged":-5,"allowed":0/' "$T/true" >"$T/forged/v1/ledger"
  faro 3 ledger explain --url "$url"
  has "$stderr" "this is not a ledger of faro: it says that -5 of 0 releases are charged"
  faro 0 ledger verify --url "$url" --key "$T/analyzer.sign.public" # says nothing that is not signed
  faro 0 ledger explain --url "$url" --key "$T/analyzer.sign.public"
  has "$output" "charged: 2 of the 3 releases"

  jq -c '.rows[1].epsilon = .rows[0].epsilon' "$T/true" >"$T/forged/v1/ledger" # less than was spent
  faro 1 ledger verify --url "$url" --key "$T/analyzer.sign.public"
  has "$stderr" "not verified: row 1: epsilon is not what the campaign and this program's accountant give"
  jq -c 'del(.rows[1])' "$T/true" >"$T/forged/v1/ledger"
  faro 1 ledger explain --url "$url" --key "$T/analyzer.sign.public"
  has "$stderr" "row 1 is missing: 2 rows were signed"
}
