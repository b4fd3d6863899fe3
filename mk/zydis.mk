# The decoder of x86-64 instructions, libzydis: nothing else needs it, so builds for other architectures have none.
# Debian's package holds the shared library only. For a static program the part that decodes is compiled from Debian's source
# package, which tools/zydis-source fetches once into $(O)/zydis; ZYDIS_SOURCE=DIR takes a source tree that is there already.

ifeq ($(BPF_ARCH),x86)
ZYDIS_LIBS   := -lZydis
ZYDIS_STATIC := $(O)/zydis/libdecode.a
endif

ZYDIS_SOURCE ?= $(O)/zydis/source
ZYDIS_SRC    := Decoder DecoderData SharedData Mnemonic MetaInfo Register Utils

$(O)/zydis/libdecode.a: mk/zydis.mk
	@mkdir -p $(@D)
	@[ -e $(ZYDIS_SOURCE)/src/Decoder.c ] || tools/zydis-source $(ZYDIS_SOURCE)
	for f in $(ZYDIS_SRC); do $(CC) -O2 -DZYDIS_STATIC_BUILD -I$(ZYDIS_SOURCE)/include -I$(ZYDIS_SOURCE)/src \
		-c -o $(@D)/$$f.o $(ZYDIS_SOURCE)/src/$$f.c || exit 1; done
	rm -f $@
	$(CROSS)ar rcs $@ $(ZYDIS_SRC:%=$(@D)/%.o)
