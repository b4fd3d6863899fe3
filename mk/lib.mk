# The tests of the instrumentation library, into $(O)/lib: programs that print TAP and need no library, so that the same ones
# are built for arm64 and run under qemu-user; some of them with sanitizers, too. `tests/lib/run` runs them.
#
#   make test-lib

LIBT     := $(O)/lib
LIBT_SRC := tests/lib
LIBT_HDR := $(wildcard $(LIBT_SRC)/*.h) lib/funcscope.h lib/funcscope.c src/wire/hist.h mk/lib.mk
LIBT_CFLAGS   := -std=gnu17 -D_GNU_SOURCE -O2 -g $(WARN) $(SYSFLAGS) -Ilib -Isrc -I$(LIBT_SRC) -pthread
LIBT_CXXFLAGS := -std=c++11 -O2 -g -Wall -Wextra -Wpedantic -Wshadow -Wold-style-cast -Werror $(SYSFLAGS) -Ilib -I$(LIBT_SRC)
LIBT_FAKE     := -DFUNCSCOPE_CLOCK=fake_clock
# A frame is a frame, whatever the optimizer would like.
LIBT_HOOKED   := -finstrument-functions -fno-optimize-sibling-calls -fno-inline
LIBT_PACKAGES := musl-tools qemu-user-static gcc-aarch64-linux-gnu g++-aarch64-linux-gnu

# The library, compiled once each way.
LIBT_WAYS := plain fake ordered nosamples
plain.flags     :=
fake.flags      := $(LIBT_FAKE)
ordered.flags   := $(LIBT_FAKE) -DFUNCSCOPE_ORDERED
nosamples.flags := $(LIBT_FAKE) -DFUNCSCOPE_NO_SAMPLES

# Programs of one file and the library; the way that both are compiled, where not plain.
LIBT_PLAIN := counts counts-ordered counts-nosamples nesting threads fork memory socket files
counts.way           := fake
counts-ordered.way   := ordered
counts-nosamples.way := nosamples
nesting.way          := fake

LIBT_ASAN := counts nesting threads fork files
LIBT_TSAN := counts threads
asan.flags := -O1 -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
tsan.flags := -fsanitize=thread

# With another C library, where its compiler is installed.
LIBT_MUSL  := $(if $(shell command -v musl-gcc),counts nesting threads fork memory socket files)
musl.flags := -idirafter /usr/include -idirafter /usr/include/$(MULTIARCH)

LIBT_BIN := $(LIBT_PLAIN:%=$(LIBT)/test_%) $(addprefix $(LIBT)/test_,cxx functions shared loaded)
LIBT_LIB := $(addprefix $(LIBT)/,libplugged.so libscoped.so libscoped-bare.so)
LIBT_SAN := $(LIBT_ASAN:%=$(LIBT)/asan/test_%) $(LIBT_TSAN:%=$(LIBT)/tsan/test_%) \
	    $(LIBT_MUSL:%=$(LIBT)/musl/test_%)

.PHONY: lib-programs lib-tests lib-arm64 test-lib
lib-programs: $(LIBT_BIN) $(LIBT_LIB)

# For arm64 with the cross compiler's own C library; where it is not installed, tests/lib/run says so.
lib-tests: lib-programs $(LIBT_SAN) lib-arm64
lib-arm64:
	@! command -v aarch64-linux-gnu-g++ >/dev/null || \
		$(MAKE) --no-print-directory CROSS=aarch64-linux-gnu- O=$(O)/lib/arm64 lib-programs

$(LIBT_BIN) $(LIBT_LIB) $(LIBT_SAN): | $(LIBT)/asan $(LIBT)/tsan $(LIBT)/musl
$(LIBT)/asan $(LIBT)/tsan $(LIBT)/musl:
	@mkdir -p $@

libt_source = $(LIBT_SRC)/test_$(firstword $(subst -, ,$(1))).c
libt_way    = $(or $($(1).way),plain)

# LIBT_RULE TEST,FOLDER,FLAGS,COMPILER and LIBT_LIBRARY WAY,FOLDER,FLAGS,COMPILER
define LIBT_RULE
$(LIBT)/$(2)test_$(1): $(call libt_source,$(1)) $(LIBT)/$(2)$(call libt_way,$(1)).o $(LIBT_HDR)
	$(4) $$(LIBT_CFLAGS) $$($(call libt_way,$(1)).flags) $(3) -o $$@ $$< $(LIBT)/$(2)$(call libt_way,$(1)).o
endef
define LIBT_LIBRARY
$(LIBT)/$(2)$(1).o: lib/funcscope.c $(LIBT_HDR) | $(LIBT)/$(or $(2:/=),asan)
	$(4) $$(LIBT_CFLAGS) $$($(1).flags) $(3) -c -o $$@ $$<
endef
libt_rules = $(foreach t,$(1),$(eval $(call LIBT_RULE,$(t),$(2),$(3),$(4)))) \
	     $(foreach w,$(LIBT_WAYS),$(eval $(call LIBT_LIBRARY,$(w),$(2),$(3),$(4))))
$(call libt_rules,$(LIBT_PLAIN),,,$(CC))
$(call libt_rules,$(LIBT_ASAN),asan/,$(asan.flags),$(CC))
$(call libt_rules,$(LIBT_TSAN),tsan/,$(tsan.flags),$(CC))
$(call libt_rules,$(LIBT_MUSL),musl/,$(musl.flags),musl-gcc)

$(LIBT)/cxx_%.o: $(LIBT_SRC)/cxx_%.cc $(LIBT_HDR)
	$(CXX) $(LIBT_CXXFLAGS) $(LIBT_FAKE) -c -o $@ $<
$(LIBT)/test_cxx.o: $(LIBT_SRC)/test_cxx.c $(LIBT_HDR)
	$(CC) $(LIBT_CFLAGS) $(LIBT_FAKE) -c -o $@ $<
$(LIBT)/test_cxx: $(addprefix $(LIBT)/,test_cxx.o cxx_a.o cxx_b.o fake.o)
	$(CXX) $(SYSFLAGS) -pthread -o $@ $^

$(LIBT)/hooked.o: lib/funcscope.c $(LIBT_HDR)
	$(CC) $(LIBT_CFLAGS) $(LIBT_FAKE) $(LIBT_HOOKED) -DFUNCSCOPE_INSTRUMENT_FUNCTIONS -c -o $@ $<
$(LIBT)/functions_c.o: $(LIBT_SRC)/functions_c.c $(LIBT_HDR)
	$(CC) $(LIBT_CFLAGS) $(LIBT_HOOKED) -c -o $@ $<
$(LIBT)/functions_cxx.o: $(LIBT_SRC)/functions_cxx.cc $(LIBT_HDR)
	$(CXX) $(LIBT_CXXFLAGS) $(LIBT_HOOKED) -c -o $@ $<
$(LIBT)/test_functions.o: $(LIBT_SRC)/test_functions.c $(LIBT_HDR)
	$(CC) $(LIBT_CFLAGS) $(LIBT_FAKE) -c -o $@ $<
$(LIBT)/test_functions: $(addprefix $(LIBT)/,test_functions.o functions_c.o functions_cxx.o hooked.o)
	$(CXX) $(SYSFLAGS) -pthread -o $@ $^ -ldl
$(LIBT)/libplugged.so: $(LIBT_SRC)/libplugged.c $(LIBT_HDR)
	$(CC) $(LIBT_CFLAGS) $(LIBT_HOOKED) -shared -fPIC -o $@ $<

$(LIBT)/libscoped.so: $(LIBT_SRC)/libscoped.c $(LIBT_HDR)
	$(CC) $(LIBT_CFLAGS) -shared -fPIC -o $@ $< lib/funcscope.c
$(LIBT)/libscoped-bare.so: $(LIBT_SRC)/libscoped.c $(LIBT_HDR)
	$(CC) $(LIBT_CFLAGS) -shared -fPIC -o $@ $<
$(LIBT)/test_shared: $(LIBT_SRC)/test_shared.c $(LIBT)/plain.o $(LIBT_HDR)
	$(CC) $(LIBT_CFLAGS) -rdynamic -o $@ $< $(LIBT)/plain.o -ldl
$(LIBT)/test_loaded: $(LIBT_SRC)/test_loaded.c $(LIBT_HDR)
	$(CC) $(LIBT_CFLAGS) -o $@ $< -ldl

$(addprefix $(LIBT)/,cxx_a.o cxx_b.o test_cxx.o hooked.o functions_c.o functions_cxx.o test_functions.o): | $(LIBT)/asan

test-lib: EXTRA_PACKAGES := $(TEST_PACKAGES) $(LIBT_PACKAGES)
test-lib: deps
	@$(MAKE) --no-print-directory -s lib-tests
	@tests/run lib
