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
