# Tests: unit (cmocka, with address and undefined-behaviour sanitizers), the instrumentation library (mk/lib.mk), end to end
# (bats), virtual machines.
# `make test` runs them all through tests/run, which ends with one line of totals; `make test SAN=1` those that run on this machine,
# with the sanitized program.

UNIT     := $(O)/unit
UNIT_SRC := $(wildcard tests/unit/test_*.c)
UNIT_BIN := $(UNIT_SRC:tests/unit/%.c=$(UNIT)/%)
UNIT_OBJ := $(patsubst src/%.c,$(UNIT)/obj/%.o,$(filter-out src/main.c,$(SRC)))
# -O1: sanitized code takes half as long again to compile with -O2, and finds no more.
UNIT_CFLAGS = $(ALL_CFLAGS) -O1 -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
# What the build makes besides: nothing in it to be sanitized.
UNIT_GEN := $(patsubst %,$(O)/obj/gen/%.o,pages driver_trial)
# An archive, from which a test links what it uses: linking everything into each of them takes longer than compiling them.
UNIT_LIB := $(UNIT)/obj/all.a
# An allocation that fails is made by wrapping the allocator (tests/unit/test_oom.c).
UNIT_WRAP := -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=strdup

.PHONY: unit test-unit test-e2e test-vm-all
unit: $(UNIT_BIN) $(UNIT)/exporters

$(UNIT)/obj/%.o: src/%.c $(SKEL)
	@mkdir -p $(@D)
	$(CC) $(UNIT_CFLAGS) -MMD -MP -c -o $@ $<

$(UNIT)/obj/kernel/syscalls.o: $(O)/gen/syscalls.inc
$(UNIT)/obj/sink/flamegraph.o: $(O)/gen/flamegraph.inc
$(UNIT)/obj/web/gnutls.o: $(O)/gen/gnutls.inc

$(UNIT_LIB): $(UNIT_OBJ)
	rm -f $@
	$(CROSS)ar rcs $@ $^

$(UNIT)/test_%: tests/unit/test_%.c $(UNIT_LIB) $(UNIT_GEN) $(wildcard tests/unit/*.h)
	$(CC) $(UNIT_CFLAGS) -Itests/unit $(if $(filter oom,$*),$(UNIT_WRAP)) -o $@ $< $(UNIT_LIB) $(UNIT_GEN) -lcmocka $(LIBS)

# Writes what is sent to others, for tests/e2e/exporters.bats.
$(UNIT)/exporters: tests/unit/exporters.c $(UNIT_LIB) $(UNIT_GEN) $(wildcard tests/unit/*.h)
	$(CC) $(UNIT_CFLAGS) -Itests/unit -o $@ $< $(UNIT_LIB) $(UNIT_GEN) -lcmocka $(LIBS)

# A decoder of OTLP that others wrote, from npm; the test that uses it is skipped where this was not run.
.PHONY: test-web-deps
test-web-deps:
	@mkdir -p $(O)/web
	cp tests/web/package.json tests/web/package-lock.json $(O)/web/
	cd $(O)/web && npm ci --ignore-scripts --no-audit --no-fund

# A collector of OpenTelemetry's, likewise, for tests/e2e/collector.bats.
.PHONY: test-otel-deps
test-otel-deps:
	tests/otel/build

# The sanitized program for the end-to-end tests, of the objects that the unit tests are made of: `make SAN=1`.
$(O)/san/funcscope: src/main.c tests/e2e/sanitized.c $(UNIT_LIB) $(UNIT_GEN)
	@mkdir -p $(@D)
	$(CC) $(UNIT_CFLAGS) -Wl,--wrap=waitpid -o $@ $^ $(LIBS)

# The evaluator of trace's expressions: in user space, and in programs that a test loads.
$(O)/gen/%.bpf.o: tests/unit/%.bpf.c $(wildcard bpf/*.bpf.h src/wire/*.h)
	@mkdir -p $(@D)
	$(CLANG) -O2 -g -Wall -Werror -mcpu=v3 -target bpf -D__TARGET_ARCH_$(BPF_ARCH) -I/usr/include/$(MULTIARCH) -Isrc \
		-Ibpf -c -o $@ $<

$(UNIT)/test_eval $(UNIT)/test_usdtargs: bpf/expr.bpf.h
$(UNIT)/test_eval_kernel: $(O)/gen/eval_kernel.skel.h
# The walk through the frames of Python, likewise.
$(UNIT)/test_python_kernel: $(O)/gen/python_kernel.skel.h

test: EXTRA_PACKAGES := $(TEST_PACKAGES) $(LIBT_PACKAGES) $(VM_PACKAGES)
test: deps
	@$(MAKE) --no-print-directory -s -j$$(nproc) all unit lib-tests fixtures $(O)/san/funcscope
	@SAN=$(SAN) tests/run unit lib e2e $(if $(SAN),,sanitized vm)

test-unit: EXTRA_PACKAGES := $(TEST_PACKAGES)
test-unit: deps unit
	@tests/run unit

test-e2e: EXTRA_PACKAGES := $(TEST_PACKAGES)
test-e2e: deps all fixtures $(UNIT)/exporters
	@SAN=$(SAN) tests/run e2e

# The program that tests/gpu/gpu-suite knows everything of: with the runtime as a library, and with the one linked in. Needs
# CUDA's compiler, and no GPU.
NVCC       ?= $(shell command -v nvcc || echo /usr/local/cuda/bin/nvcc)
NVCC_FLAGS := -std=c++17 -O2 -g -gencode arch=compute_90,code=[sm_90,compute_90] \
	      -Xcompiler -Wall,-Wextra,-Werror,-fno-omit-frame-pointer,-fno-optimize-sibling-calls

.PHONY: gpu-known
gpu-known: $(O)/gpu/known-shared $(O)/gpu/known-static

$(O)/gpu/known-%: tests/gpu/known.cu
	@mkdir -p $(@D)
	$(NVCC) $(NVCC_FLAGS) -cudart $* -o $@ $< -ldl

bench: EXTRA_PACKAGES := $(BENCH_PACKAGES) $(TEST_PACKAGES)
bench: deps
	@$(MAKE) --no-print-directory -s -j$$(nproc) all fixtures
	@bench/run

lint: EXTRA_PACKAGES := clang-format clang-tidy shellcheck
lint: deps all
	@tools/lint

-include $(UNIT_OBJ:.o=.d)
