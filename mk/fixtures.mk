# The programs that the end-to-end tests trace, into $(O)/fixtures. They build natively and, as everything else, with
# CROSS and SYSROOT for another architecture; what only x86 has is left out elsewhere.

FIX      := $(O)/fixtures
FIX_SRC  := tests/fixtures
FIX_HDR  := $(wildcard $(FIX_SRC)/*.h)
FIX_ARCH := $(firstword $(subst -, ,$(shell $(CC) -dumpmachine 2>/dev/null)))
OBJCOPY  := $(CROSS)objcopy
STRIP    := $(CROSS)strip

FIX_CFLAGS   := -std=gnu17 -D_GNU_SOURCE -O2 -g -Wall -Wextra -Werror $(SYSFLAGS)
FIX_CXXFLAGS := -std=gnu++17 -D_GNU_SOURCE -O2 -g -Wall -Wextra -Werror $(SYSFLAGS)

# One C file, one program.
FIX_PLAIN := calls threads forks vforkexec dlopen rust recurse usdt comms syscalls runner \
	     timed nest jumps inflight strings enums structs usdtargs steady cudarunner hammer many forkinside nextsym relay shorts crowd
# Look-alikes of libraries, by the names of the real ones.
FIX_CUDA  := $(addprefix cuda/,libcudart.so.13 libcublas.so.13 libcudnn.so.9 libnccl.so.2 libtorch_cpu.so)
# Look-alikes that have the real ones' binary interface and some state, and programs that use them.
FIX_GPU_LIBS := $(addprefix gpu/,libcuda.so.1 libcudart.so.12 libcudart.so.13 libcublas.so.13 libnccl.so.2)
FIX_GPU      := $(FIX_GPU_LIBS) $(addprefix gpu/,gpuapp12 gpuapp13 gpuapp-static gpuleak gpuoom)
# Programs and libraries with a rule of their own.
FIX_MADE  := pie nopie static runner-static stripped minidebug sepdebug sepdebug.debug cxx ctlsym usefix \
	     libplug.so libfix.so.1 bare/libfix.so.1 throws tails chains chains-nofp scoped instrumented \
	     $(FIX_CUDA) cudaapp cudaapp-static libsched.so schedule harmed maths unwinds libback.so throwsback turns turns-altstack turns-hand \
	     libthrower.so plugged plugged-linked handing frames rewritten rewritten-second $(FIX_GPU)
FIX_x86_64 := nop5forks looped places libtextrel.so textrel patched

FIX_ALL := $(addprefix $(FIX)/,$(FIX_PLAIN) $(FIX_MADE) $(FIX_$(FIX_ARCH)))

.PHONY: fixtures
fixtures: $(FIX_ALL)

$(FIX_ALL): | $(FIX)/bare $(FIX)/cuda $(FIX)/gpu
$(FIX)/bare $(FIX)/cuda $(FIX)/gpu:
	@mkdir -p $@

$(addprefix $(FIX)/,$(FIX_PLAIN) looped patched): $(FIX)/%: $(FIX_SRC)/%.c $(FIX_HDR)
	$(CC) $(FIX_CFLAGS) -pthread -o $@ $< -ldl

$(FIX)/pie: $(FIX_SRC)/calls.c $(FIX_HDR)
	$(CC) $(FIX_CFLAGS) -fPIE -pie -o $@ $<

$(FIX)/nopie: $(FIX_SRC)/calls.c $(FIX_HDR)
	$(CC) $(FIX_CFLAGS) -fno-pie -no-pie -o $@ $<

$(FIX)/static: $(FIX_SRC)/calls.c $(FIX_HDR)
	$(CC) $(FIX_CFLAGS) -static -o $@ $<

$(FIX)/runner-static: $(FIX_SRC)/runner.c $(FIX_HDR)
	$(CC) $(FIX_CFLAGS) -static -pthread -o $@ $<

# Nothing left but what it exports; local_work() is gone.
$(FIX)/stripped: $(FIX_SRC)/calls.c $(FIX_HDR)
	$(CC) $(FIX_CFLAGS) -rdynamic -o $@ $<
	$(STRIP) -s $@

# As Fedora does it: the symbols that .dynsym has not, packed by xz into a section. No build id, so that no
# debug file can help.
$(FIX)/minidebug: $(FIX_SRC)/calls.c $(FIX_HDR)
	$(CC) $(FIX_CFLAGS) -Wl,--build-id=none -o $@.tmp $<
	$(OBJCOPY) --only-keep-debug $@.tmp $@.debug
	$(OBJCOPY) -S --remove-section .comment --keep-symbol=work --keep-symbol=local_work $@.debug $@.mini
	xz -f -k $@.mini
	$(STRIP) -s $@.tmp
	$(OBJCOPY) --add-section .gnu_debugdata=$@.mini.xz $@.tmp
	rm -f $@.debug $@.mini $@.mini.xz
	mv $@.tmp $@

# The build id is fixed, so that the tests know where to install the debug file.
$(FIX)/sepdebug $(FIX)/sepdebug.debug &: $(FIX_SRC)/calls.c $(FIX_HDR)
	$(CC) $(FIX_CFLAGS) -Wl,--build-id=0xf5c0ffee00112233445566778899aabbccddeeff -o $(FIX)/sepdebug.tmp $<
	$(OBJCOPY) --only-keep-debug $(FIX)/sepdebug.tmp $(FIX)/sepdebug.debug
	$(STRIP) -s -o $(FIX)/sepdebug $(FIX)/sepdebug.tmp
	rm -f $(FIX)/sepdebug.tmp

$(FIX)/cxx: $(FIX_SRC)/cxx.cc $(FIX_HDR)
	$(CXX) $(FIX_CXXFLAGS) -o $@ $<

# They carry lib/: by hand, and by the compiler.
$(FIX)/scoped: $(FIX_SRC)/scoped.c lib/funcscope.c lib/funcscope.h $(FIX_HDR)
	$(CC) $(FIX_CFLAGS) -Ilib -pthread -o $@ $< lib/funcscope.c

$(FIX)/instrumented: $(FIX_SRC)/instrumented.c lib/funcscope.c lib/funcscope.h $(FIX_HDR)
	$(CC) $(FIX_CFLAGS) -finstrument-functions -c -o $@.o $<
	$(CC) $(FIX_CFLAGS) -Ilib -DFUNCSCOPE_INSTRUMENT_FUNCTIONS -pthread -o $@ $@.o lib/funcscope.c
	rm -f $@.o

$(FIX)/throws $(FIX)/handing: $(FIX)/%: $(FIX_SRC)/%.cc $(FIX_HDR)
	$(CXX) $(FIX_CXXFLAGS) -o $@ $<

# A tail call that became a call would prove nothing: the two must be jumps (jmp, on arm64 b).
$(FIX)/tails: $(FIX_SRC)/tails.c $(FIX_HDR)
	$(CC) $(FIX_CFLAGS) -foptimize-sibling-calls -S -o $@.s $<
	grep -Eq '^[[:space:]]+(jmp|b)[[:space:]]+tail_g$$' $@.s
	grep -Eq '^[[:space:]]+(jmp|b)[[:space:]]+tail_h$$' $@.s
	$(CC) $(FIX_CFLAGS) -o $@ $@.s
	rm -f $@.s

# The victims of tests/e2e/harm.bats: calls of libm that stay calls, and on x86-64 a function that begins as it should.
$(FIX)/harmed: $(FIX_SRC)/harmed.c $(FIX_HDR)
	$(CC) $(FIX_CFLAGS) -fno-builtin -ffp-contract=fast -S -o $@.s $<
	[ $(FIX_ARCH) != x86_64 ] || grep -A 8 '^victim_fnmadd:' $@.s | grep -q vfnmadd132sd
	$(CC) $(FIX_CFLAGS) -o $@ $@.s -lm -ldl
	rm -f $@.s

# Stacks by frame pointers need them in every frame; without them only the unwind tables help.
FIX_CHAINS := $(FIX_CFLAGS) -fno-optimize-sibling-calls
$(FIX)/chains: $(FIX_SRC)/chains.c $(FIX_HDR)
	$(CC) $(FIX_CHAINS) -fno-omit-frame-pointer -o $@ $<
$(FIX)/chains-nofp: $(FIX_SRC)/chains.c $(FIX_HDR)
	$(CC) $(FIX_CHAINS) -fomit-frame-pointer -o $@ $<

$(FIX)/timed $(FIX)/hammer: FIX_CFLAGS += -fno-omit-frame-pointer -fno-optimize-sibling-calls

$(FIX)/rewritten: $(FIX_SRC)/rewritten.c $(FIX_HDR)
	$(CC) $(FIX_CFLAGS) -o $@ $<
$(FIX)/rewritten-second: $(FIX_SRC)/rewritten.c $(FIX_HDR)
	$(CC) $(FIX_CFLAGS) -DSECOND -o $@ $<

# Linkers call it an error unless told not to.
$(FIX)/libtextrel.so: $(FIX_SRC)/libtextrel.c
	$(CC) $(FIX_CFLAGS) -shared -fPIC -Wl,-soname,libtextrel.so -Wl,-z,notext -o $@ $<

$(FIX)/textrel: $(FIX_SRC)/textrel.c $(FIX)/libtextrel.so $(FIX_HDR)
	$(CC) $(FIX_CFLAGS) -o $@ $< $(FIX)/libtextrel.so -Wl,-rpath,'$$ORIGIN'

# The C compiler takes no such name; objcopy does.
$(FIX)/ctlsym: $(FIX_SRC)/ctlsym.c $(FIX_HDR)
	$(CC) $(FIX_CFLAGS) -c -o $@.o $<
	$(OBJCOPY) --redefine-sym "$$(printf 'evil=ev\033[31m\ail\nfunction')" $@.o
	$(CC) $(FIX_CFLAGS) -o $@ $@.o
	rm -f $@.o

$(FIX)/libplug.so: $(FIX_SRC)/libplug.c $(FIX_HDR)
	$(CC) $(FIX_CFLAGS) -shared -fPIC -o $@ $<

$(FIX)/libfix.so.1: $(FIX_SRC)/libfix.c $(FIX_SRC)/libfix.map $(FIX_HDR)
	$(CC) $(FIX_CFLAGS) -shared -fPIC -Wl,-soname,libfix.so.1 \
		-Wl,--version-script=$(FIX_SRC)/libfix.map -o $@ $<

# The same library as a distribution ships it: .dynsym only.
$(FIX)/bare/libfix.so.1: $(FIX)/libfix.so.1
	$(STRIP) -s -o $@ $<

$(FIX)/usefix: $(FIX_SRC)/usefix.c $(FIX)/libfix.so.1 $(FIX_HDR)
	$(CC) $(FIX_CFLAGS) -o $@ $< $(FIX)/libfix.so.1 -Wl,-rpath,'$$ORIGIN'

$(addprefix $(FIX)/,$(FIX_CUDA) cudaapp cudaapp-static): FIX_CFLAGS += -fno-omit-frame-pointer -fno-optimize-sibling-calls

$(addprefix $(FIX)/,$(FIX_CUDA)): $(FIX)/cuda/lib%: $(FIX_SRC)/cudalib.c $(FIX_HDR)
	$(CC) $(FIX_CFLAGS) -shared -fPIC -DLIB=$(firstword $(subst ., ,$*)) -Wl,-soname,$(@F) -o $@ $<

$(FIX)/cudaapp: $(FIX_SRC)/cudaapp.c $(addprefix $(FIX)/,$(FIX_CUDA)) $(FIX_HDR)
	$(CC) $(FIX_CFLAGS) -o $@ $< $(addprefix $(FIX)/,$(FIX_CUDA)) -Wl,-rpath,'$$ORIGIN/cuda'

$(FIX)/cudaapp-static: $(FIX_SRC)/cudaapp.c $(FIX_SRC)/cudalib.c $(FIX_HDR)
	$(CC) $(FIX_CFLAGS) -static -o $@ $(FIX_SRC)/cudaapp.c $(FIX_SRC)/cudalib.c

# Stacks go through them by frame pointers, from the first instruction on. The path is one that LD_LIBRARY_PATH does
# not override: where there is a real CUDA, that often points at it. Stripped as the real ones are.
GPU     := $(FIX)/gpu
GPU_SRC := $(FIX_SRC)/gpu
GPU_HDR := $(FIX_HDR) $(wildcard $(GPU_SRC)/*.h)
GPU_LIB  = $(CC) $(FIX_CFLAGS) -shared -fPIC -pthread -Wl,-soname,$(@F) $(GPU_PATH) -o $@
GPU_PATH := -Wl,-rpath,'$$ORIGIN' -Wl,--disable-new-dtags

$(addprefix $(FIX)/,$(FIX_GPU)): FIX_CFLAGS += -fno-omit-frame-pointer -fno-optimize-sibling-calls -fno-shrink-wrap

$(GPU)/libcuda.so.1: $(addprefix $(GPU_SRC)/,libcuda.c memory.c code.c copies.c) $(GPU_HDR)
	$(GPU_LIB) -s $(filter %.c,$^)

# With symbol versions, as the real one. __cudaLaunchKernel must end in a jump: see tails.
$(GPU)/libcudart.so.12 $(GPU)/libcudart.so.13: $(GPU)/libcudart.so.%: $(GPU_SRC)/libcudart.c $(GPU_HDR)
	printf '%s { global: cuda*; __cuda*; fakecudart*; local: *; };\n' $(@F) >$@.map
	$(CC) $(FIX_CFLAGS) -DCUDART=$* -fPIC -S -o $@.s $<
	[ $* = 12 ] || grep -Eq '^[[:space:]]+(jmp|b)[[:space:]]+cudaLaunchKernel(@PLT)?$$' $@.s
	$(GPU_LIB) -s -Wl,-Bsymbolic-functions -Wl,--version-script=$@.map $@.s -ldl
	rm -f $@.map $@.s

$(GPU)/libcublas.so.13: $(GPU_SRC)/libcublas.c $(GPU_HDR)
	$(GPU_LIB) -s $< -ldl

$(GPU)/libnccl.so.2: $(GPU_SRC)/libnccl.c $(GPU_HDR)
	$(GPU_LIB) -Wl,-S $< -ldl

GPU_APP  := $(addprefix $(GPU_SRC)/,gpuapp.c words.c kernels.c)
GPU_USED := $(GPU)/libcublas.so.13 $(GPU)/libnccl.so.2
$(GPU)/gpuapp12 $(GPU)/gpuapp13: $(GPU)/gpuapp%: $(GPU_APP) $(GPU)/libcudart.so.% $(GPU_USED) $(GPU)/libcuda.so.1 $(GPU_HDR)
	$(CC) $(FIX_CFLAGS) -DCUDART=$* -pthread -o $@ $(GPU_APP) $(GPU)/libcudart.so.$* $(GPU_USED) $(GPU_PATH) -ldl

$(GPU)/gpuapp-static: $(GPU_APP) $(GPU_SRC)/libcudart.c $(GPU_USED) $(GPU)/libcuda.so.1 $(GPU_HDR)
	$(CC) $(FIX_CFLAGS) -DCUDART=13 -pthread -o $@ $(filter %.c,$^) $(GPU_USED) $(GPU_PATH) -ldl

$(GPU)/gpuleak $(GPU)/gpuoom: $(GPU)/%: $(GPU_SRC)/%.c $(GPU)/libcudart.so.13 $(GPU)/libcuda.so.1 $(GPU_HDR)
	$(CC) $(FIX_CFLAGS) -pthread -o $@ $< $(GPU)/libcudart.so.13 $(GPU_PATH) -ldl

$(FIX)/libback.so: $(FIX_SRC)/libback.c $(FIX_HDR)
	$(CC) $(FIX_CFLAGS) -fexceptions -shared -fPIC -Wl,-soname,libback.so -o $@ $<

$(FIX)/turns-altstack: FIX_CFLAGS += -DALTSTACK
$(FIX)/turns-hand: FIX_CFLAGS += -DHAND
$(FIX)/turns $(FIX)/turns-altstack $(FIX)/turns-hand: $(FIX_SRC)/turns.c $(FIX_HDR) $(FIX)/libback.so
	$(CC) $(FIX_CFLAGS) -o $@ $< $(FIX)/libback.so -Wl,-rpath,'$$ORIGIN'

$(FIX)/throwsback: $(FIX_SRC)/throwsback.cc $(FIX)/libback.so
	$(CXX) $(FIX_CXXFLAGS) -pthread -o $@ $< $(FIX)/libback.so -Wl,-rpath,'$$ORIGIN'

$(FIX)/libthrower.so: $(FIX_SRC)/libthrower.cc $(FIX)/libback.so
	$(CXX) $(FIX_CXXFLAGS) -shared -fPIC -Wl,-soname,libthrower.so -o $@ $< $(FIX)/libback.so -Wl,-rpath,'$$ORIGIN'

# Only the library is C++, and exceptions pass through the program.
$(FIX)/plugged: $(FIX_SRC)/plugged.c $(FIX_HDR) | $(FIX)/libthrower.so
	$(CC) $(FIX_CFLAGS) -fexceptions -o $@ $< -ldl

$(FIX)/plugged-linked: $(FIX_SRC)/plugged.c $(FIX)/libthrower.so $(FIX_HDR)
	$(CC) $(FIX_CFLAGS) -fexceptions -DLINKED -o $@ $< $(FIX)/libthrower.so -Wl,-rpath,'$$ORIGIN'

$(FIX)/frames: $(FIX_SRC)/frames.c $(FIX_HDR)
	$(CC) $(FIX_CFLAGS) -fno-optimize-sibling-calls -o $@ $<

# Code and read-only data in one segment, as linkers have done it for long.
$(FIX)/places: $(FIX_SRC)/places.c $(FIX_HDR)
	$(CC) $(FIX_CFLAGS) -Wl,-z,noseparate-code -o $@ $<

$(FIX)/libsched.so: $(FIX_SRC)/libsched.c $(FIX_HDR)
	$(CC) $(FIX_CFLAGS) -fno-omit-frame-pointer -fno-optimize-sibling-calls -shared -fPIC -Wl,-soname,libsched.so -o $@ $<

$(FIX)/schedule: $(FIX_SRC)/schedule.c $(FIX)/libsched.so $(FIX_HDR)
	$(CC) $(FIX_CFLAGS) -fno-omit-frame-pointer -pthread -o $@ $< $(FIX)/libsched.so -Wl,-rpath,'$$ORIGIN'

# What the compiler knows the result of, or has an instruction for, is called all the same.
$(FIX)/maths: $(FIX_SRC)/maths.c $(FIX_HDR)
	$(CC) $(FIX_CFLAGS) -fno-builtin -frounding-math -o $@ $< -lm

$(FIX)/unwinds: $(FIX_SRC)/unwinds.cc $(FIX_HDR)
	$(CXX) $(FIX_CXXFLAGS) -pthread -o $@ $<

# gcc makes the nop only in code that is not position independent. Linked without -pg, which would add a profiler.
$(FIX)/nop5forks: $(FIX_SRC)/forks.c $(FIX_HDR)
	$(CC) $(FIX_CFLAGS) -fno-pie -pg -mfentry -mnop-mcount -c -o $@.o $<
	$(CC) $(FIX_CFLAGS) -no-pie -o $@ $@.o
	rm -f $@.o
