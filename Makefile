# One non-recursive build. The targets people use:
#
#   make              build/funcscope
#   make STATIC=1     build/static/funcscope, one file to copy to any machine
#   make SAN=1        build/san/funcscope, with address and undefined-behaviour sanitizers
#   make demo         install what is missing, build, show the main job
#   make test         install what is missing, build, run every test this machine can run; SAN=1: with sanitizers
#   make bench        side by side with bpftrace
#   make lint         clang-format, clang-tidy, shellcheck, layers, manual pages
#   make install      program, manual pages, completions below DESTDIR/PREFIX
#
# Cross: make STATIC=1 CROSS=aarch64-linux-gnu- SYSROOT=DIR O=build/arm64

VERSION := 0.1.0
.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
O       ?= build
PREFIX  ?= /usr/local
DESTDIR ?=
CROSS   ?=
SYSROOT ?=
STATIC  ?=
SAN     ?=

CC      := $(CROSS)gcc
CXX     := $(CROSS)g++
CLANG   ?= clang
BPFTOOL ?= $(shell command -v bpftool || echo /usr/sbin/bpftool)
MULTIARCH := $(shell gcc -print-multiarch 2>/dev/null)

WARN   := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Werror
CFLAGS ?= -O2 -g
ALL_CFLAGS = -std=gnu17 -D_GNU_SOURCE -DFSC_VERSION='"$(VERSION)"' $(WARN) $(CFLAGS) \
	     $(SYSFLAGS) -Isrc -Ilib -I$(O)/gen
BPF_ARCH := $(if $(findstring aarch64,$(shell $(CC) -dumpmachine 2>/dev/null)),arm64,x86)
LIBS      = -lbpf -ldw -lelf -liberty -llzma -lzstd -lz -ljansson -l:libmicrohttpd.a $(ZYDIS_LIBS) -lm -lpthread
STATIC_LIBS := -lbpf -ldw -lelf -liberty -llzma -lbz2 -lzstd -lz -ljansson -lmicrohttpd -lm -lpthread -ldl
LDFLAGS  ?=

include mk/packages.mk
include mk/cross.mk
include mk/zydis.mk

# Every folder of src but trial, which is a program of its own.
SRC  := src/main.c $(filter-out src/trial/%,$(wildcard src/*/*.c))
OBJ  := $(SRC:src/%.c=$(O)/obj/%.o) $(O)/obj/gen/pages.o $(O)/obj/gen/driver_trial.o
# What a command does with a hit is compiled for itself (src/engine/objects.c); counting gives the skeleton its name.
MODES := time stack trace
SKEL := $(O)/gen/func_snoop.skel.h $(MODES:%=$(O)/gen/func_snoop_%.skel.h) $(O)/gen/gpuevent_snoop.skel.h
PAGES := $(sort $(wildcard docs/man/*.1))

BIN := $(O)/$(if $(STATIC),static/,$(if $(SAN),san/))funcscope

.PHONY: all clean install demo test bench lint deps
all: $(BIN)

$(O)/funcscope: $(OBJ)
	$(CC) $(SYSFLAGS) $(LDFLAGS) -o $@ $^ $(SYSLIBS) $(LIBS)

# libdw may load libdebuginfod; in a static program it then simply is not there, which is what we want.
$(O)/static/funcscope: $(OBJ) $(ZYDIS_STATIC)
	@mkdir -p $(@D)
	$(CC) -static $(SYSFLAGS) $(LDFLAGS) -o $@ $^ $(SYSLIBS) $(STATIC_LIBS) 2>&1 | \
		{ grep -v -e 'statically linked applications requires' -e '[Ii]n function' || true; }
	@test -x $@

# libmicrohttpd wants GnuTLS, which is loaded when TLS is asked for (src/web/gnutls.c): the functions that it calls, and our own.
$(O)/gen/gnutls.inc: Makefile
	@mkdir -p $(@D)
	{ $(CROSS)nm $$($(CC) $(SYSFLAGS) -print-file-name=libmicrohttpd.a) 2>/dev/null | \
		sed -n 's/^ *U \(gnutls_[a-z0-9_]*\)$$/\1/p'; echo gnutls_session_set_verify_cert2; } | \
		grep -vx gnutls_malloc | sort -u | awk '{ print "CALL(" NR - 1 ", " $$1 ")" }' >$@.tmp
	mv $@.tmp $@

$(O)/obj/web/gnutls.o: $(O)/gen/gnutls.inc

$(O)/obj/%.o: src/%.c $(SKEL)
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

$(O)/obj/gen/%.o: $(O)/gen/%.c
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -c -o $@ $<

$(O)/gen/pages.c: $(PAGES) tools/gen-pages
	@mkdir -p $(@D)
	tools/gen-pages $(PAGES) >$@.tmp && mv $@.tmp $@

# The program that tries a driver library, always dynamic, as bytes (src/gpu/trial_child.c).
$(O)/gen/funcscope-driver-trial: src/trial/driver_trial.c
	@mkdir -p $(@D)
	$(CC) -std=gnu17 -D_GNU_SOURCE $(WARN) -O2 -fPIE -pie -s $(SYSFLAGS) -o $@ $< -ldl

$(O)/gen/driver_trial.c: $(O)/gen/funcscope-driver-trial
	{ echo '#include "gpu/trial_priv.h"'; echo 'const unsigned char fsc_driver_trial[] = {'; \
		od -An -v -tu1 $< | sed 's/  */,/g; s/^,//; s/$$/,/'; \
		echo '};'; echo 'const size_t fsc_driver_trial_size = sizeof(fsc_driver_trial);'; } >$@.tmp
	mv $@.tmp $@

# The numbers of the system calls, from the target's own headers.
$(O)/gen/syscalls.inc:
	@mkdir -p $(@D)
	echo '#include <sys/syscall.h>' | $(CC) $(SYSFLAGS) -E -dM - | \
		sed -n 's/^#define __NR_\([a-z0-9_]*\) .*/{"\1", __NR_\1},/p' | sort >$@.tmp
	mv $@.tmp $@

$(O)/obj/kernel/syscalls.o: $(O)/gen/syscalls.inc

# The script inside a flame graph, as C text.
$(O)/gen/flamegraph.inc: src/sink/flamegraph.js
	@mkdir -p $(@D)
	sed 's/\\/\\\\/g; s/"/\\"/g; s/^/"/; s/$$/\\n"/' $< >$@.tmp && mv $@.tmp $@

$(O)/obj/sink/flamegraph.o: $(O)/gen/flamegraph.inc

# Compiles BPF programs; bpftool leaves the debugging information out, but for BTF.
BPF_CC = $(CLANG) -O2 -g -Wall -Werror -target bpf -mcpu=v3 -D__TARGET_ARCH_$(BPF_ARCH) -I/usr/include/$(MULTIARCH) -Isrc -Ibpf -c
BPF_H := $(wildcard bpf/*.bpf.h src/wire/*.h)

$(O)/gen/gpuevent_snoop.bpf.o: bpf/gpuevent_snoop.bpf.c $(BPF_H)
	@mkdir -p $(@D)
	$(BPF_CC) -o $@.full $<
	$(BPFTOOL) gen object $@ $@.full

$(O)/gen/func_snoop.bpf.o $(MODES:%=$(O)/gen/func_snoop_%.bpf.o): $(O)/gen/func_snoop%.bpf.o: bpf/func_snoop.bpf.c $(BPF_H)
	@mkdir -p $(@D)
	$(BPF_CC) -DFSC_MODE=FSC_MODE_$(shell echo $(or $(*:_%=%),count) | tr a-z A-Z) -o $@.full $<
	$(BPFTOOL) gen object $@ $@.full

$(O)/gen/%.skel.h: $(O)/gen/%.bpf.o
	$(BPFTOOL) gen skeleton $< name $*_bpf >$@.tmp && mv $@.tmp $@

clean:
	rm -rf build

install: all
	install -D -m 755 $(BIN) $(DESTDIR)$(PREFIX)/bin/funcscope
	install -d $(DESTDIR)$(PREFIX)/share/man/man1
	install -m 644 $(PAGES) $(DESTDIR)$(PREFIX)/share/man/man1
	install -d $(DESTDIR)$(PREFIX)/share/bash-completion/completions \
		$(DESTDIR)$(PREFIX)/share/zsh/site-functions
	$(BIN) completion bash >$(DESTDIR)$(PREFIX)/share/bash-completion/completions/funcscope
	$(BIN) completion zsh >$(DESTDIR)$(PREFIX)/share/zsh/site-functions/_funcscope

demo: EXTRA_PACKAGES := g++ xz-utils binutils
demo: deps
	@$(MAKE) --no-print-directory -s -j$$(nproc) all fixtures
	@tools/demo

include mk/fixtures.mk
include mk/harm.mk
include mk/lib.mk
include mk/vm.mk
include mk/test.mk
-include $(OBJ:.o=.d)
