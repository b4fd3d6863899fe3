# Building for another architecture with a private sysroot of its -dev packages (tests/vm/sysroot).

ifneq ($(SYSROOT),)
SYSFLAGS := --sysroot=$(abspath $(SYSROOT))
endif
