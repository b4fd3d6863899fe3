# The differential sweep (tests/harm): libraries of encodings, the program that executes them and the one that compares, all
# below $(FIX)/harm so that the guests get them, too. x86-64 only.
#
#   tests/harm/sweep           what funcscope attaches to
#   tests/harm/sweep --raw     everything that the kernel takes

HARM      := $(FIX)/harm
HARM_SETS := encodings short libraries
HARM_ALL  := $(HARM_SETS:%=$(HARM)/lib%.so) $(addprefix $(HARM)/,harm-runner harm-compare sweep)
HARM_OBJ  := $(filter $(foreach d,base elf types dwarf proc kernel sym probe,$(O)/obj/$(d)/%.o),$(OBJ))
HARM_HDR  := $(wildcard tests/harm/*.h)
HARM_FLAGS := $(FIX_CFLAGS) -Itests

# The files whose instructions are swept: those of the building machine.
HARM_FILES ?= $(foreach l,libc.so.6 libm.so.6 libcrypto.so.3 libstdc++.so.6,$(wildcard /lib/$(MULTIARCH)/$(l))) \
	      $(foreach p,python3 git bash,$(shell readlink -f "$$(PATH=/usr/bin:/bin command -v $(p))"))
encodings.args :=
short.args     := --short
libraries.args := $(HARM_FILES)

ifeq ($(FIX_ARCH),x86_64)
fixtures: $(HARM_ALL)
endif

$(HARM_ALL): | $(HARM)
$(HARM):
	@mkdir -p $@

$(O)/harm-encodings: tests/harm/encodings.c $(HARM_HDR) $(HARM_OBJ)
	$(CC) $(ALL_CFLAGS) -Itests -o $@ $< $(HARM_OBJ) $(LIBS)

$(HARM_SETS:%=$(HARM)/lib%.so): $(HARM)/lib%.so: $(O)/harm-encodings
	$(O)/harm-encodings $(HARM)/$*.list $($*.args) >$(HARM)/$*.s
	$(CC) -shared -nostdlib -o $@ $(HARM)/$*.s
	rm $(HARM)/$*.s

# It executes anything with any fs, so nothing of its own may look at that.
$(HARM)/harm-runner: tests/harm/runner.c tests/harm/state.S $(HARM_HDR)
	$(CC) $(HARM_FLAGS) -fno-stack-protector -fcf-protection=none -static -no-pie -o $@ $(filter %.c %.S,$^)

$(HARM)/harm-compare: tests/harm/compare.c $(HARM_HDR)
	$(CC) $(HARM_FLAGS) -static -o $@ $<

$(HARM)/sweep: tests/harm/sweep
	cp $< $@
