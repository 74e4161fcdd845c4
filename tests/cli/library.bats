# The libraries as an application sees them: what they need, and their headers in C++.

load support

setup() {
  faro_setup
  BUILD=$(dirname "$FARO")
}
teardown() { faro_teardown; }

program='#include <faro/client.h>
#include <stdio.h>
int main() {
  const unsigned char key[32] = {0};
  faro_client_params params = {};
  params.signer = key, params.token = key, params.epsilon = 1, params.trust = "shuffle";
  faro_client *client = nullptr;
  faro_error error = {};
  if (faro_client_open(&client, &params, &error) != FARO_OK) return 1;
  if (faro_client_campaign(client, "nonsense", 8, &error) != FARO_INVALID) return 2;
  std::puts(error.message);
  faro_client_close(client);
  return 0;
}'

@test "libfaro_client needs libsodium and the C library alone" {
  ldd "$BUILD/libfaro_client.so" | awk '{print $1}' | grep -vE '^(linux-vdso|/lib|libsodium\.so|libm\.so|libc\.so)' >"$T/others" || true
  # an instrumented build needs these
  sed -i -E '/^lib(asan|ubsan|tsan|gcov|dl|rt|pthread|gcc_s|stdc\+\+)\.so/d' "$T/others"
  [ ! -s "$T/others" ] || { cat "$T/others" && false; }
}

needs_cxx() {
  command -v g++ >/dev/null || skip "no g++ here"
  if nm -D "$BUILD/libfaro_client.so" | grep -qE '__(asan|tsan)_init'; then skip "an instrumented library"; fi
}

@test "every public header compiles as C++, and every function in it links" {
  needs_cxx
  for header in include/faro/*.h; do
    name=$(basename "$header")
    g++ -std=c++17 -Iinclude -x c++ -E -P "$header" | grep -oE '\bfaro_[a-z0-9_]+\(' | tr -d '(' | sort -u >"$T/names"
    {
      echo "#include <faro/$name>"
      echo "int main() { const void *volatile used = nullptr;"
      sed 's/.*/  used = reinterpret_cast<const void *>(\&&);/' "$T/names"
      echo "  return used == nullptr; }"
    } >"$T/uses.cc"
    g++ -std=c++17 -Wall -Wextra -Wpedantic -Werror -Iinclude -o "$T/uses" "$T/uses.cc" -L"$BUILD" -lfaro -Wl,-rpath,"$BUILD"
  done
}

@test "a C++ program can embed the client" {
  needs_cxx
  echo "$program" | sed 's/<stdio.h>/<cstdio>/' >"$T/embed.cc"
  g++ -std=c++17 -Wall -Wextra -Wpedantic -Werror -Iinclude -o "$T/embed" "$T/embed.cc" -L"$BUILD" -lfaro_client -Wl,-rpath,"$BUILD"
  run "$T/embed"
  [ "$status" -eq 0 ]
  has "$output" 'the document must begin with "faro-campaign-2 "'
}
