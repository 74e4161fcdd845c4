# The commands of this project; `make help` lists them. CMake does the work (CMakePresets.json).
# A line `target: ... ## text` is what `make help` prints about a target.

MAKEFLAGS += --no-print-directory
JOBS ?= $(shell nproc)
PREFIX ?= /usr/local
FUZZ_SECONDS ?= 60
FAULTS ?= 30
# Many tests wait for processes: more of them run than there are processors.
CTEST = ctest --output-on-failure --no-tests=error -j $$((2 * $(JOBS)))
QUIETLY = @scripts/quietly
# build(what, folder, options): one line on the terminal, the compiler's output in build/log
build = $(QUIETLY) "building $(1)" cmake --build $(2) -j $(JOBS) $(3) $(if $(VERBOSE),-v)
# configure(preset, options): silent unless something is wrong
configure = @cmake --preset $(1) $(if $(VERBOSE),,--log-level=WARNING) $(2) >/dev/null

.PHONY: all help run python wheel test check-all bench lint format asan tsan memcheck coverage fuzz docs deb image wasm install clean bootstrap-%

all: bootstrap-build ## build the command and the libraries into build/ (half a minute)
	$(call configure,release,-DCMAKE_INSTALL_PREFIX=$(PREFIX) -DFARO_TESTS=OFF)
	$(call build,faro,build,--target faro faro_shared faro_client faro_client_shared)

help: ## this list
	@echo "usage: make TARGET     (times: two cores, without installing packages; VERBOSE=1 shows every command)"
	@echo
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | while IFS="$$(printf '\t')" read -r target text; do \
	  printf '  %-10s %s\n' "$$target" "$$text"; done
	@echo
	@echo "Every target first installs the Debian packages that it needs (scripts/bootstrap)."

bootstrap-%:
	@scripts/bootstrap $*

run: all ## build, then compare every trust model on one problem (10 s more)
	build/faro run trust-models

python: bootstrap-python ## the Python module, in build/python (half a minute)
	$(call configure,release,-DFARO_PYTHON=ON -DFARO_TESTS=OFF)
	$(call build,the Python module,build,--target faro_package)
	@echo "the module is in build/python; to use it: export PYTHONPATH=$(CURDIR)/build/python, then import faro"

wheel: bootstrap-wheel ## a wheel for pip that needs the C library alone, build/faro-*.whl (half a minute)
	@scripts/make-wheel

test: bootstrap-test ## build and run the tests, but for slow ones (3 minutes)
	$(call configure,release,-DFARO_TESTS=ON -DFARO_PYTHON=ON)
	$(call build,faro and its tests,build)
	$(CTEST) --test-dir build -LE 'slow|check|fuzz'

# After `make test`: the slow tests and cases, more faults, and the tests again under the sanitizers.
check-all: bootstrap-check ## what takes longer: statistics, audits, faults, documents, sanitizers (most of an hour)
	$(call configure,release,-DFARO_TESTS=ON -DFARO_PYTHON=ON)
	$(call build,faro and its tests,build)
	FARO_SLOW_TESTS=1 FARO_FAULTS=$(FAULTS) $(CTEST) --test-dir build -L 'slow|check|more|fuzz'
	$(MAKE) asan tsan

asan: bootstrap-test ## tests under the address and undefined-behaviour sanitizers
	$(call configure,$@)
	$(call build,with sanitizers,build/$@)
	FARO_CHECK_TESTS=1 $(CTEST) --test-dir build/$@ -LE slow

# Where one thread runs, there is nothing to find.
tsan: bootstrap-test ## tests under the thread sanitizer
	$(call configure,$@)
	$(call build,with the thread sanitizer,build/$@)
	FARO_CHECK_TESTS=1 $(CTEST) --test-dir build/$@ -LE 'slow|one-thread'

memcheck: bootstrap-memcheck ## unit tests under valgrind
	$(call configure,release,-DFARO_TESTS=ON)
	$(call build,faro and its tests,build)
	set -e; for test in $$(cd build && ctest -N -L unit -LE slow | sed -n 's|.*unit/.*/||p; s|.*unit/||p' | sort -u); do echo "memcheck: $$test"; \
	  OPENBLAS_NUM_THREADS=1 valgrind -q --error-exitcode=1 --leak-check=full --errors-for-leak-kinds=definite,indirect \
	    build/tests/$$test >/dev/null; done

bench: bootstrap-bench ## nanoseconds of a round beside a textbook program, NumPy and the limit; instructions (6 minutes)
	$(call configure,bench)
	$(call build,the benchmarks,build/bench)
	bench/speed $(BENCH)

bench-all: bench ## the same, then kernels, random numbers, clients, the service, Python (half an hour)
	cmake --build build/bench --target run_benches

coverage: bootstrap-coverage ## line coverage of src/
	$(call configure,coverage)
	$(call build,with coverage,build/coverage)
	find build/coverage -name '*.gcda' -delete # counts of an older build make gcov complain on stderr
	FARO_CHECK_TESTS=1 $(CTEST) --test-dir build/coverage
	gcovr --root . --filter src/ --object-directory build/coverage --exclude-throw-branches --sort-percentage --fail-under-line 90 --html-details build/coverage/index.html --print-summary

fuzz: bootstrap-fuzz ## fuzz the parsers, FUZZ_SECONDS each
	$(call configure,fuzz)
	$(call build,the fuzz targets,build/fuzz)
	scripts/fuzz build/fuzz/tests/fuzz $(FUZZ_SECONDS)

lint: bootstrap-lint ## check layers, columns, formatting, clang-tidy
	scripts/check-layers
	scripts/check-columns
	git ls-files '*.c' '*.h' | xargs clang-format --dry-run --Werror
	$(call configure,release,-DFARO_TESTS=OFF)
	git ls-files 'src/*.c' | xargs -P $(JOBS) -n 4 clang-tidy -p build --quiet --warnings-as-errors='*'

format: bootstrap-lint ## format the code
	git ls-files '*.c' '*.h' | xargs clang-format -i

docs: bootstrap-docs ## the documents as a website in build/site (2 s)
	$(QUIETLY) "writing build/site/index.html" scripts/make-site build/site

deb: bootstrap-deb ## a Debian package, build/faro_*.deb (a minute)
	@scripts/make-deb

wasm: bootstrap-wasm ## the client for browsers and node, in build/web/package (half a minute)
	$(QUIETLY) "building build/web/package" scripts/make-wasm

image: ## a container image, with docker or podman (some minutes)
	@scripts/make-image

install: all ## install under PREFIX (/usr/local); DESTDIR is honoured
	$(call build,the rest,build)
	$(QUIETLY) "installing to $(DESTDIR)$(PREFIX)" env DESTDIR="$(DESTDIR)" cmake --install build

clean: ## remove build/
	rm -rf build
