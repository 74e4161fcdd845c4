# faro keys.

load support

setup() { faro_setup; }
teardown() { faro_teardown; }

@test "keys: pairs that show knows again, secrets for their owner alone" {
  local kind
  for kind in sign seal; do
    faro 0 keys $kind --out "$T/$kind"
    local key
    key=$(sed -n 's/^public key: *//p' <<<"$output")
    [[ $key =~ ^[0-9a-f]{64}$ ]]
    [ "$(cat "$T/$kind.public")" = "faro-$kind-public-1 $key" ]
    [ "$(stat -c %a "$T/$kind.secret")" = 600 ]
    grep -qE "^faro-$kind-secret-1 [0-9a-f]+$" "$T/$kind.secret"
    local made=$output half
    for half in secret public; do
      faro 0 keys show "$T/$kind.$half"
      has "$output" "kind:        faro-$kind-$half-1"
      [ "$(tail -n 2 <<<"$output")" = "$(tail -n 2 <<<"$made")" ]
    done
  done
}

@test "keys: files stay after a power cut, or are not made" {
  strace -o "$T/trace" -e trace=fsync true 2>/dev/null || skip "strace cannot trace here"
  local what
  for what in sign seal "tokens --count 3"; do
    ASAN_OPTIONS=detect_leaks=0 run --separate-stderr strace -o "$T/trace" -e trace=fsync -e inject=fsync:error=EIO:when=3 \
      "$FARO" keys $what --out "$T/c"
    [ "$status" -eq 4 ]
    has "$stderr" "cannot flush its folder"
    [ -z "$(ls "$T" | grep '^c\.')" ]
  done
}

@test "keys: nothing is overwritten, and half a pair is not left" {
  faro 0 keys sign --out "$T/a"
  local before
  before=$(cat "$T/a.secret")
  faro 3 keys sign --out "$T/a"
  has "$stderr" "a.secret exists already and is not overwritten"
  [ "$(cat "$T/a.secret")" = "$before" ]
  touch "$T/b.public"
  faro 3 keys seal --out "$T/b"
  gone "$T/b.secret"
  faro 4 keys seal --out "$T/nowhere/c"
  has "$stderr" "cannot be created"
}

@test "keys: tokens and their hashes" {
  faro 0 keys tokens --count 20 --out "$T/c"
  [ "$(stat -c %a "$T/c.tokens")" = 600 ]
  [ "$(sort -u "$T/c.tokens" | grep -cE '^[0-9a-f]{64}$')" = 20 ]
  [ "$(sort -cu "$T/c.hashes" && grep -cE '^[0-9a-f]{32}$' "$T/c.hashes")" = 20 ]
  local token hash
  while read -r token; do # BLAKE2b-128 of the bytes, by python's own
    hash=$(python3 -c 'import hashlib,sys; print(hashlib.blake2b(bytes.fromhex(sys.argv[1]), digest_size=16).hexdigest())' "$token")
    grep -qx "$hash" "$T/c.hashes"
  done < <(head -n 3 "$T/c.tokens")
  not grep -q "$(head -n 1 "$T/c.tokens" | cut -c 1-32)" "$T/c.hashes"
  touch "$T/d.hashes" # of others: then there are no tokens either
  faro 3 keys tokens --count 3 --out "$T/d"
  [ ! -e "$T/d.tokens" ]
}

@test "keys: show tells the hashes of tokens, so that one can be taken out" {
  faro 0 keys tokens --count 5 --out "$T/c"
  faro 0 keys show "$T/c.tokens"
  [ "$(sort <<<"$output")" = "$(cat "$T/c.hashes")" ]
  local third=$(sed -n 3p <<<"$output")
  (umask 077 && sed -n 3p "$T/c.tokens" >"$T/stolen")
  faro 0 keys show "$T/stolen"
  [ "$output" = "$third" ]
  chmod 644 "$T/stolen"
  faro 3 keys show "$T/stolen"
  has "$stderr" "must not be readable by others: chmod 600 (mode is 644)"
  not grep -q "$(cut -c 1-32 "$T/stolen")" <<<"$stderr"
  faro 3 keys show "$T/c.hashes"
  has "$stderr" "is neither a key file nor a token file"
  chmod 600 "$T/c.tokens" && echo more >>"$T/c.tokens"
  faro 3 keys show "$T/c.tokens"
  has "$stderr" "must have lines of 64 hexadecimal digits"
}

@test "keys: files that are no keys, or open to others" {
  faro 0 keys sign --out "$T/a"
  chmod 644 "$T/a.secret"
  faro 3 keys show "$T/a.secret"
  has "$stderr" "must not be readable by others: chmod 600 (mode is 644)"
  chmod 600 "$T/a.secret"
  sed -i 's/.$/g/' "$T/a.secret"
  faro 3 keys show "$T/a.secret"
  has "$stderr" "hexadecimal digits"
  echo hello >"$T/text"
  faro 3 keys show "$T/text"
  has "$stderr" "is neither a key file"
  faro 3 keys show "$T/missing"
  has "$stderr" "missing: cannot be read: No such file or directory"
}

@test "keys: usage" {
  faro 2 keys
  has "$stderr" "expected one of: sign, seal, tokens, show"
  faro 2 keys sing
  has "$stderr" 'unknown action "sing" (did you mean sign?); expected one of: sign, seal, tokens, show'
  faro 2 keys sign
  has "$stderr" "--out PREFIX is required"
  faro 2 keys sign extra --out "$T/x"
  has "$stderr" "unexpected argument extra"
  faro 2 keys show a b
  has "$stderr" "unexpected argument b"
  faro 2 keys tokens --out "$T/x"
  has "$stderr" "--count N is required (the number of tokens)"
  faro 2 keys tokens --count 0 --out "$T/x"
  has "$stderr" "--count must be a whole number from 1 to 10000000 (got 0)"
  faro 2 keys show
  has "$stderr" "FILE is required"
}
