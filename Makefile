# The commands of this project. CMake does the work (CMakePresets.json).
#
#   make          the command and libraries    make bench      nanoseconds per round, with a textbook version
#   make run      a first experiment           make lint       layers, columns, formatting, clang-tidy
#   make test     tests, but for slow ones     make format     formats the code
#   make check-all  what takes longer: statistics, audits, faults, sanitizers, valgrind
#   make asan     tests under address and undefined-behaviour sanitizers
#   make tsan     tests under the thread sanitizer         make memcheck   tests under valgrind
#   make coverage line coverage of src/        make fuzz       fuzzes the parsers (FUZZ_SECONDS each)
#   make install  DESTDIR and PREFIX are honoured          make clean

MAKEFLAGS += --no-print-directory
JOBS ?= $(shell nproc)
PREFIX ?= /usr/local
FUZZ_SECONDS ?= 60
FAULTS ?= 30
CTEST = ctest --output-on-failure --no-tests=error -j $(JOBS)

.PHONY: all run test check-all bench lint format asan tsan memcheck coverage fuzz install clean bootstrap-%

all: bootstrap-build
	@cmake --preset release $(if $(VERBOSE),,--log-level=WARNING) -DCMAKE_INSTALL_PREFIX=$(PREFIX) -DFARO_TESTS=OFF >/dev/null
	@cmake --build build -j $(JOBS) --target faro faro_shared faro_client faro_client_shared $(if $(VERBOSE),-v)

bootstrap-%:
	@scripts/bootstrap $*

run: all
	build/faro run trust-models

test: bootstrap-test
	@cmake --preset release --log-level=WARNING -DFARO_TESTS=ON >/dev/null
	cmake --build build -j $(JOBS)
	$(CTEST) --test-dir build -LE 'slow|fuzz'

# After `make test`: the slow tests and cases, more faults, and the tests again under the sanitizers.
check-all: bootstrap-test
	@cmake --preset release --log-level=WARNING -DFARO_TESTS=ON >/dev/null
	cmake --build build -j $(JOBS)
	FARO_SLOW_TESTS=1 FARO_FAULTS=$(FAULTS) $(CTEST) --test-dir build
	$(MAKE) asan tsan

asan: bootstrap-test
	@cmake --preset $@ --log-level=WARNING >/dev/null
	cmake --build build/$@ -j $(JOBS)
	$(CTEST) --test-dir build/$@ -LE slow

# Accountants are slow and have one thread: there is nothing to find in them.
tsan: bootstrap-test
	@cmake --preset $@ --log-level=WARNING >/dev/null
	cmake --build build/$@ -j $(JOBS)
	$(CTEST) --test-dir build/$@ -LE slow -E 'unit/privacy/'

memcheck: bootstrap-memcheck
	@cmake --preset release --log-level=WARNING -DFARO_TESTS=ON >/dev/null
	cmake --build build -j $(JOBS)
	set -e; for test in $$(cd build && ctest -N -L unit -LE slow | sed -n 's|.*unit/.*/||p; s|.*unit/||p' | sort -u); do echo "memcheck: $$test"; \
	  OPENBLAS_NUM_THREADS=1 valgrind -q --error-exitcode=1 --leak-check=full --errors-for-leak-kinds=definite,indirect \
	    build/tests/$$test >/dev/null; done

bench: bootstrap-build
	@cmake --preset bench --log-level=WARNING >/dev/null
	cmake --build build/bench -j $(JOBS)
	cmake --build build/bench --target run_benches

coverage: bootstrap-coverage
	@cmake --preset coverage --log-level=WARNING >/dev/null
	cmake --build build/coverage -j $(JOBS)
	find build/coverage -name '*.gcda' -delete # counts of an older build make gcov complain on stderr
	$(CTEST) --test-dir build/coverage
	gcovr --root . --filter src/ --object-directory build/coverage --exclude-throw-branches --sort-percentage --fail-under-line 90 --html-details build/coverage/index.html --print-summary

fuzz: bootstrap-fuzz
	@cmake --preset fuzz --log-level=WARNING >/dev/null
	cmake --build build/fuzz -j $(JOBS)
	scripts/fuzz build/fuzz/tests/fuzz $(FUZZ_SECONDS)

lint: bootstrap-lint
	scripts/check-layers
	scripts/check-columns
	git ls-files '*.c' '*.h' | xargs clang-format --dry-run --Werror
	@cmake --preset release --log-level=WARNING >/dev/null
	git ls-files 'src/*.c' | xargs -P $(JOBS) -n 4 clang-tidy -p build --quiet --warnings-as-errors='*'

format: bootstrap-lint
	git ls-files '*.c' '*.h' | xargs clang-format -i

install: all
	cmake --build build -j $(JOBS)
	DESTDIR="$(DESTDIR)" cmake --install build

clean:
	rm -rf build
