# A shuffler in parts: what its settings refuse, and a client that finds its collector by itself.

load support
load service

setup() { faro_setup; }
teardown() { faro_teardown; }

# A campaign of one batch of 16, a joiner and two collectors; the clients are 1, 2 and 3.
parts() {
  campaign
  sed -i 's/batch: 2, horizon: 6/batch: 16, horizon: 16/' "$T/analyzer.yaml"
  "$FARO" keys tokens --count 60 --out "$T/more"
  cat "$T/more.hashes" >>"$T/clients.hashes"
  local i
  for i in 0 1; do
    "$FARO" keys sign --out "$T/collector-$i.sign"
    port[i]=$(free_port)
    sed "s|^listen.*|listen: 127.0.0.1:${port[i]}|; s|shuffler.db|collector-$i.db|; s|shuffler-0.sign|collector-$i.sign|" \
      "$T/shuffler.yaml" >"$T/collector-$i.yaml"
    printf 'collector: {number: %s, of: 2, joiner: "http://%s", joiner-key: %s}\n' "$i" \
      "$(sed -n 's/^listen: //p' "$T/shuffler.yaml")" "$(key "$T/shuffler-0.sign.public")" >>"$T/collector-$i.yaml"
  done
  sed '/^tokens/d' "$T/shuffler.yaml" >"$T/joiner.yaml"
  echo "collectors:" >>"$T/joiner.yaml"
  for i in 0 1; do
    echo "  - {url: \"http://127.0.0.1:${port[i]}\", key: $(key "$T/collector-$i.sign.public")}" >>"$T/joiner.yaml"
  done
}

# Settings that are refused: refused FILE TEXT
refused() {
  faro 3 shuffler --check-config --config "$1"
  has "$stderr" "$2"
}

@test "parts: settings that do not fit together are refused" {
  local port=()
  parts
  faro 0 shuffler --check-config --config "$T/joiner.yaml"
  faro 0 shuffler --check-config --config "$T/collector-0.yaml"
  cat "$T/joiner.yaml" <(echo "tokens: $T/clients.hashes") >"$T/bad.yaml"
  refused "$T/bad.yaml" "tokens must not be given with collectors"
  cat "$T/joiner.yaml" <(grep '^collector:' "$T/collector-0.yaml") >"$T/bad.yaml"
  refused "$T/bad.yaml" "collectors and collector must not be given together"
  sed 's/number: 0/number: 2/' "$T/collector-0.yaml" >"$T/bad.yaml"
  refused "$T/bad.yaml" "collector.number must be below collector.of, which is 2 (got 2)"
  sed 's/, of: 2//' "$T/collector-0.yaml" >"$T/bad.yaml"
  refused "$T/bad.yaml" "collector must have number, of, joiner and joiner-key"
  sed '/^tokens/d' "$T/collector-0.yaml" >"$T/bad.yaml"
  refused "$T/bad.yaml" "tokens is missing"
  sed "s/$(key "$T/collector-1.sign.public")/$(key "$T/collector-0.sign.public")/" "$T/joiner.yaml" >"$T/bad.yaml"
  refused "$T/bad.yaml" "collectors[1].key must be its own"
  sed 's|collector-0.sign|shuffler-0.sign|' "$T/collector-0.yaml" >"$T/bad.yaml"
  refused "$T/bad.yaml" "key must be the collector's own"
  local database="database: postgresql://there"
  cat "$T/joiner.yaml" <(echo "$database") >"$T/bad.yaml"
  refused "$T/bad.yaml" "database must not be given with collectors:"
  cat "$T/collector-0.yaml" <(echo "$database") >"$T/bad.yaml"
  refused "$T/bad.yaml" "database must not be given with collector:"
  cat "$T/shuffler.yaml" <(echo "$database") <(echo "adder: http://127.0.0.1:1") >"$T/bad.yaml"
  refused "$T/bad.yaml" "database must not be given with adder:"
}

# The examples, with different keys in place of their placeholders.
@test "parts: the examples in deploy/ are read" {
  local file n=0 line
  "$FARO" keys tokens --count 2 --out "$T/c"
  "$FARO" keys sign --out "$T/own"
  for file in joiner-0 collector-0-0; do
    while IFS= read -r line; do
      if [[ $line =~ 0{64} ]]; then
        n=$((n + 1))
        "$FARO" keys sign --out "$T/key-$n" >/dev/null
        line=${line/${BASH_REMATCH[0]}/$(key "$T/key-$n.public")}
      fi
      echo "$line"
    done <"deploy/$file.yaml" |
      sed -e "s|^key: /etc.*|key: $T/own.secret|; s|^\(admin-\)\?tokens: .*|\1tokens: $T/c.hashes|" \
        -e "s|/var/lib/[^ ]*/|$T/|; /^certificate/d; /^private-key/d; s|^listen: 0.0.0.0|listen: 127.0.0.1|" >"$T/$file.yaml"
    rm -f "$T"/key-*
    faro 0 shuffler --check-config --config "$T/$file.yaml"
  done
}

@test "parts: a client asks the shuffler for its collector, and reports there" {
  local port=()
  parts
  role analyzer analyzer "$T/analyzer.yaml"
  role joiner shuffler "$T/joiner.yaml"
  local joiner=$url number client
  for number in 0 1; do role "collector-$number" shuffler "$T/collector-$number.yaml"; done
  run get "$joiner" /v1/collectors
  has "$output" "faro-collectors-1 "
  has "$output" "\"collectors\":[{\"url\":\"http://127.0.0.1:${port[0]}\"},{\"url\":\"http://127.0.0.1:${port[1]}\"}]"
  for client in 1 2 3; do
    round "$client" 0.5
    [ "$status" -eq 0 ]
    [ -z "$stderr" ]
    faro 0 client --config "$T/$client.yaml" --show
    has "$output" "so far:    1 delivered"
  done
  run get "$joiner" /healthz
  has "$output" "200 OK"
  kill -TERM "${started[@]}"
  wait "${started[@]}"
  started=()
  sed -i 's/of: 2/of: 1/' "$T/collector-0.yaml" # what was collected belongs to two of them
  refused "$T/collector-0.yaml" "is the state of collector 0 of 2, and the settings are those of collector 0 of 1"
}

# A shuffler that misbehaves in the place of the joiner: hostile WAY LIST... The lists are given out in turn. It writes the paths of
# posts to hostile.log.
hostile() {
  local address
  address=$(sed -n 's/^listen: //p' "$T/joiner.yaml")
  python3 - "${address#*:}" "$T/hostile.log" "$@" 3>&- <<'END' &
import http.server
import sys

port, log, way, *lists = sys.argv[1:]
posts = []
asked = 0


class Handler(http.server.BaseHTTPRequestHandler):
    def answer(self, status, body):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        global asked
        if self.path == "/v1/collectors":
            asked += 1
            self.answer(200, open(lists[(asked - 1) % len(lists)], "rb").read())
        else:
            self.answer(404, b"{}")

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        stays = posts[-1:] == [self.path]
        posts.append(self.path)
        open(log, "a").write(self.path + "\n")
        if way == "dead" and self.path.startswith("/a/"):
            self.close_connection = True  # no answer
        elif self.path.startswith("/b/") and way == "dead" or stays or len(posts) == 1000:
            self.answer(200, b"\0")
        else:
            self.answer(421, b'{"error": "the token belongs to another collector of this shuffler"}')

    def log_message(self, *words):
        pass


http.server.ThreadingHTTPServer(("127.0.0.1", int(port)), Handler).serve_forever()
END
  started+=("$!")
  local i
  for ((i = 0; i < 6000; i++)); do
    (exec 9<>"/dev/tcp/127.0.0.1/${address#*:}") 2>/dev/null && return 0
    sleep 0.02
  done
  return 1
}

# A list that the shuffler has signed, in which all collectors are below a path of its own address: list PATH
list() {
  sed "s|url: \"http://[^\"]*\"|url: \"http://$(sed -n 's/^listen: //p' "$T/joiner.yaml")/$1NUMBER\"|" "$T/joiner.yaml" |
    awk '/NUMBER/ { sub("NUMBER", n++ ? "/1" : "") } { print }' >"$T/joiner-$1.yaml"
  role_named "joiner-$1" shuffler "$T/joiner-$1.yaml"
  get "$url" /v1/collectors | sed '1,/^\r$/d' >"$T/list-$1"
  stop "joiner-$1"
}

@test "parts: a shuffler that sends a client around is asked so often and no more; a dead collector is not the shuffler" {
  check_test
  local port=()
  declare -A pids
  parts
  role analyzer analyzer "$T/analyzer.yaml"
  list a
  list b
  hostile around "$T/list-a" "$T/list-b"
  round 1 0.5
  [ "$status" -eq 0 ]
  [ "$(wc -l <"$T/hostile.log")" -eq 42 ] # the first, one after each look, and one after a pause
  kill -TERM "${started[-1]}"
  wait "${started[-1]}" || true
  unset 'started[-1]'
  rm "$T/hostile.log"
  hostile dead "$T/list-a" "$T/list-b"
  round 2 0.5
  [ "$status" -eq 0 ]
  has "$(tail -1 "$T/hostile.log")" "/b/"
}
