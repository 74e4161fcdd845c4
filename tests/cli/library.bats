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
  check_test
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
  has "$output" 'the document must begin with "faro-campaign-3 "'
}

# ---- the examples, as a user builds them: flags go to the compiler, against build/ or an installed library

# Builds and runs the examples with these flags: examples FLAG...
examples() {
  cd "$T"
  cc -Wall -Wextra -Wpedantic -Werror -o agent "$EXAMPLES/agent.c" "$@"
  g++ -std=c++17 -Wall -Wextra -Wpedantic -Werror -o agent++ "$EXAMPLES/agent.cpp" "$@"
  cc -Wall -Wextra -Wpedantic -Werror -o world "$EXAMPLES/own_world.c" "$@" -lm
  ./agent >agent.out
  [ "$(sed -n 1p agent.out)" = "20000 visitors, 204 clicks lost; showing banners at random loses 3750" ]
  ./agent++ | sed 's/ lost$/ lost; showing banners at random loses 3750/' | cmp - agent.out
  ./world >world.out
  grep -q '^van, dimension 3, arms 12, horizon 20000' world.out
  grep -q '^trusted server .* (1, 1e-6) proven$' world.out
  # it learns: less than a tenth, and less than two thirds, of the regret of uniform play
  awk '/^no privacy/ { a = $3 } /^trusted server/ { b = $3 } /^at random/ { r = $3 } END { exit !(a < r / 10 && b < r * 2 / 3) }' world.out
  [ ! -e van.journal ]
}

@test "the examples build and run against build/" {
  needs_cxx
  EXAMPLES=$PWD/examples examples -I"$PWD/include" -L"$BUILD" -lfaro -Wl,-rpath,"$BUILD"
  [ "$(wc -l <"$BATS_TEST_DIRNAME/../../examples/agent.c")" -le 40 ]
  [ "$(wc -l <"$BATS_TEST_DIRNAME/../../examples/agent.cpp")" -le 40 ]
}

@test "the examples build and run with pkg-config against an installed library" {
  slow_test
  needs_cxx
  DESTDIR=$T/root cmake --install "$BUILD" >/dev/null
  local pc
  pc=$(find "$T/root" -name faro.pc)
  export PKG_CONFIG_SYSROOT_DIR=$T/root PKG_CONFIG_LIBDIR=${pc%/*}
  export LD_LIBRARY_PATH=${pc%/pkgconfig/faro.pc}
  EXAMPLES=$(dirname "$(find "$T/root" -name agent.cpp)")
  [ -f "$EXAMPLES/own_world.c" ]
  # shellcheck disable=SC2046
  examples $(pkg-config --cflags --libs faro)
}

# Where pkg-config finds the library as installed in a folder: installed
installed() {
  local pc
  DESTDIR=$T/root cmake --install "$BUILD" >/dev/null
  pc=$(find "$T/root" -name faro_client.pc)
  export PKG_CONFIG_SYSROOT_DIR=$T/root PKG_CONFIG_LIBDIR=${pc%/*}
  libraries=${pc%/pkgconfig/faro_client.pc}
}

# The client example runs as far as it can without a campaign: runs_client PROGRAM
runs_client() {
  mkdir -p "$T/folder"
  run "$1" "$T/folder" 1 1e-6 choose
  [ "$status" -eq 2 ]
  has "$output" "usage: client FOLDER EPSILON DELTA "
  printf '%064d\n' 7 | tee "$T/folder/key" >"$T/folder/token"
  chmod 644 "$T/folder/token"
  run "$1" "$T/folder" 1 1e-6 next
  [ "$status" -eq 1 ]
  has "$output" "only its owner may read token"
  chmod 600 "$T/folder/token"
  run "$1" "$T/folder" 1 1e-6 next
  [ "$status" -eq 1 ]
  has "$output" 'the document must begin with "faro-campaign-'
}

@test "the example of a client builds as its document says" {
  needs_cxx
  installed
  # shellcheck disable=SC2046
  cc -Wall -Wextra -Wpedantic -Werror "$(find "$T/root" -name client.c)" $(pkg-config --cflags --libs faro_client) -o "$T/client"
  LD_LIBRARY_PATH=$libraries runs_client "$T/client"
}

@test "the examples can be linked statically" {
  slow_test
  needs_cxx
  installed
  # shellcheck disable=SC2046
  cc -static "$PWD/examples/client.c" $(pkg-config --static --cflags --libs faro_client) -o "$T/client"
  runs_client "$T/client"
  if pkg-config --static --libs faro | grep -q gfortran && [ ! -e "$(cc -print-file-name=libgfortran.a)" ]; then skip "no libgfortran.a here"; fi
  # shellcheck disable=SC2046
  cc -static "$PWD/examples/agent.c" $(pkg-config --static --cflags --libs faro) -o "$T/agent"
  "$T/agent" | grep -q "20000 visitors, 204 clicks lost"
}

@test "an example that is killed continues, because its journal is its own" {
  slow_test
  needs_cxx
  EXAMPLES=$PWD/examples
  cc -I"$PWD/include" -o "$T/world" "$EXAMPLES/own_world.c" -L"$BUILD" -lfaro -lm -Wl,-rpath,"$BUILD"
  cd "$T"
  ./world >whole
  ./world >killed 2>&1 3>&- &
  pid=$!
  started+=("$pid")
  while [ "$(stat -c %s van.journal 2>/dev/null || echo 0)" -lt 2000 ] && kill -0 "$pid" 2>/dev/null; do sleep 0.01; done
  kill -KILL "$pid" || true
  finish
  ./world >again
  cmp whole again
}

world='#include <faro/faro.h>
#include <cstdio>
#include <cstring>
struct coin { double p; };
static void begin(void *state, faro_sim_rng *random) { static_cast<coin *>(state)->p = faro_sim_uniform(random); }
static void arms(void *, uint64_t, faro_sim_rng *, double *x) { x[0] = x[3] = 1, x[1] = x[2] = 0; }
static double mean(const void *state, size_t arm) {
  const double p = static_cast<const coin *>(state)->p;
  return arm ? p : 1 - p;
}
int main() {
  faro_world w{};
  w.name = "coin", w.stays = true, w.size = sizeof(coin), w.begin = begin, w.arms = arms, w.mean = mean;
  faro_error error{};
  if (faro_world_register(&w, &error) != FARO_OK) return std::puts(error.message), 1;
  const char *text = "environment: {name: coin, dimension: 2, arms: 2}\nhorizon: 500\ninstances: 2\n"
                     "algorithms: [{learner: linucb, release: none}]\n";
  faro_experiment *e = nullptr;
  if (faro_experiment_parse(&e, "coin.yaml", text, std::strlen(text), nullptr, &error) != FARO_OK)
    return std::puts(error.message), 1;
  faro_results *r = nullptr;
  const faro_run_options options{};
  if (faro_run(e, &options, &r, &error) != FARO_OK) return std::puts(error.message), 1;
  std::printf("%d\n", r->outcome[0].regret.mean < r->outcome[0].uniform);
  faro_results_destroy(r);
  faro_experiment_destroy(e);
}'

@test "a C++ program can have an environment of its own" {
  needs_cxx
  echo "$world" >"$T/world.cc"
  g++ -std=c++17 -Wall -Wextra -Wpedantic -Werror -Iinclude -o "$T/coin" "$T/world.cc" -L"$BUILD" -lfaro -Wl,-rpath,"$BUILD"
  [ "$("$T/coin")" = 1 ]
}
