# gpu: launches, memory, leaks, copies, waits and failures of programs that use look-alikes of CUDA's libraries
# (tests/fixtures/gpu), compared with what those say they were asked for; processes that come late, die or are many; outputs; bad
# input; the real runtime without a device; Python.
load common
load measure

setup() {
	e2e_setup
	GPU=$FIXTURES/gpu
	need_fixture gpu/gpuapp13
}
teardown() { e2e_teardown; }

# ---- what the tests share ----

# same [WANT]: what was told is what the fixture did; gpu_truth.jq says what can be wanted besides.
same() {
	local want=${1:-'{"comm":"gpuapp13"}'}
	jq -rn --slurpfile events out --slurpfile truth truth --argjson want "$want" -f "$E2E_TOP/tests/e2e/gpu_truth.jq" \
		>differences 2>&1 || fail "jq: $(<differences)"
	assert_eq "what differs" '' "$(head -n 20 differences)"
	nothing_lost
}

nothing_lost() {
	assert_eq "type of the last line" summary "$(field type "$(last_line)")"
	assert_eq "lost, in $(last_line)" '{}' "$(summary lost)"
	assert_eq "missed" 0 "$(summary missed)"
	assert_eq "seen = kept" "$(summary seen)" "$(summary kept)"
}

# truth FILTER: of the fixture's words.
truth() {
	jq -c "select(.type == \"truth\") | $1" truth
}

# out FILTER: of the lines told.
out() {
	jq -c "$1" out
}

# events TYPE [FILTER]: how many there are.
events() {
	jq -n "[inputs | select(.type == \"$1\") | select(${2:-true})] | length" out
}

# sum TYPE FILTER: of a number of those.
sum() {
	jq -n "[inputs | select(.type == \"$1\") | $2] | add" out
}

# start_app PROGRAM ARGS...: one that waits, by its word "wait" or its own way. Sets APP and reads its first line.
start_app() {
	rm -f to from
	mkfifo to from
	"$@" <to >from 3>&- 8>&- 9<&- &
	APP=$!
	PIDS+=("$APP")
	exec 8>to 9<from
	waiting
}

# waiting: it waits now.
waiting() {
	local line=
	read -r line <&9 || true
	assert_match "the program" "$line" waiting
}

go() {
	echo go >&8
}

# told: takes what it says at its end.
told() {
	cat <&9 >truth
}

# attach ARGS...: to APP; the events go to out.
attach() {
	arm_as gpu -f json -p "$APP" "$@"
}

@test "gpu: a library that is written to ends the run, with its report" {
	cp -r "$GPU" mine
	start_app "$TMP/mine/gpuapp13" launch=3 wait launch=2
	attach
	printf x >>mine/libcuda.so.1
	status=0
	wait "$FS" || status=$?
	assert_eq "exit status" 1 "$status"
	assert_match error "$(<err)" "libcuda.so.1 was written to after [0-9.]+ s, which ended the run"
	assert_eq "the report ends with" summary "$(field type "$(last_line)")"
	go
}

# ---- launches ----

LAUNCHES='launch=30 launchex=20 coop=10 graph=4 long=3 driver=12 driverex=11 gemm=6 sgemm=5 allreduce=7 ptsz=2'

# bats test_tags=guest,long
@test "gpu: launches of CUDA 13's runtime: every one once, every field" {
	# shellcheck disable=SC2086 # several words
	measure gpu --args --launch-errors -- "$GPU/gpuapp13" $LAUNCHES
	same '{"comm":"gpuapp13","args":true,"errors":true}'
	assert_eq "the long name" 1500 "$(out 'select(.type == "gpu_launch" and .grid == [1,2,3]) | .symbol | length' | sort -u)"
	assert_eq "kernels in the report" "$(truth '[.kernels[]] | add')" "$(sum gpu_kernel '.launches * if .kind == "graph" then 0 else 1 end')"
}

@test "gpu: launches of CUDA 12's runtime, and of a runtime that is linked in" {
	# shellcheck disable=SC2086 # several words
	measure gpu --args -- "$GPU/gpuapp12" $LAUNCHES
	same '{"comm":"gpuapp12","args":true}'
	# shellcheck disable=SC2086 # several words
	measure gpu --args -- "$GPU/gpuapp-static" $LAUNCHES
	same '{"comm":"gpuapp-static","args":true,"via":false}'
	# shellcheck disable=SC2086 # several words
	measure gpu --launch-errors -- "$GPU/gpuapp12" $LAUNCHES
	same '{"comm":"gpuapp12","errors":true}'
}

@test "gpu: whose library it was is left out on request" {
	measure gpu --no-libraries -- "$GPU/gpuapp13" gemm=3 allreduce=2
	assert_eq launches 8 "$(events gpu_launch)"
	assert_eq libraries 0 "$(events gpu_launch .library)"
	assert_eq owners '"libcublas.so.13" "libnccl.so.2"' "$(out 'select(.type == "gpu_launch").owner' | sort -u | paste -sd' ')"
}

@test "gpu: four threads" {
	measure gpu -- "$GPU/gpuapp13" threads=4 launch=25 launchex=10 graph=2 malloc=20 free=7 managed=3 h2d=5 h2d_async=5 sync=4 gemm=2
	same '{"comm":"gpuapp13","threads":4}'
}

@test "gpu: a process and its child" {
	measure gpu -- "$GPU/gpuapp13" launch=5 malloc=4 fork launch=7 malloc=3 free=2 h2d=3 sync=2
	assert_eq truths 2 "$(truth .pid | wc -l)"
	parent=$(truth 'select(.words.malloc == 4).pid') child=$(truth 'select(.words.malloc == 3).pid')
	assert_eq "parent of the child" "$parent" "$(out "select(.type == \"gpu_launch\" and .pid == $child).ppid" | sort -u)"
	assert_eq "launches of the parent" 5 "$(events gpu_launch ".pid == $parent")"
	assert_eq "launches of the child" 7 "$(events gpu_launch ".pid == $child")"
	assert_eq "allocations of the parent" 4 "$(events gpu_alloc ".pid == $parent")"
	assert_eq "frees of the child" 2 "$(events gpu_free ".pid == $child")"
	nothing_lost
}

@test "gpu: the device that was chosen" {
	measure gpu -- "$GPU/gpuapp13" device=1 launch=3 malloc=2 h2d=1
	same '{"comm":"gpuapp13","device":1}'
}

@test "gpu: names of kernels where the driver has them elsewhere" {
	need_command unshare
	# what trials find is remembered by the driver's build, which is the same here
	alone=(unshare -m sh -c 'mount -t tmpfs tmpfs /var/cache && exec "$@"' sh)
	"${alone[@]}" true 2>/dev/null || skip "no mount namespace here"
	FAKECUDA_NAME_OFFSET=24 "${alone[@]}" "$FUNCSCOPE" gpu -f json -o out -- "$GPU/gpuapp13" launch=3 driver=2 long=1 \
		>truth 2>err 3>&- </dev/null || fail "$(<err)"
	same
	assert_match coverage "$(grep gpu_coverage out)" 'kernel names at \+24 of a function, found by a trial'
}

@test "gpu: names of kernels without a trial are those that were looked up since" {
	FAKECUDA_NAME_OFFSET=24 measure gpu --no-trial -- "$GPU/gpuapp13" launch=3 driver=2 long=1
	same
	start_app env FAKECUDA_NAME_OFFSET=24 "$GPU/gpuapp13" launch=1 wait launch=3 driver=2
	attach --no-trial
	go
	told
	join
	assert_eq "named ones" 2 "$(events gpu_launch '.kernel == "triton_poi_fused_add_0"')"
	assert_eq "launches" 5 "$(events gpu_launch)"
	assert_eq "unnamed ones" 3 "$(out 'select(.type == "gpu_report").unnamed')"
}

# ---- memory ----

MEMORY='malloc=10 free=4 pitched managed async pool vmm pinned registered nullfree keep pitched managed async pool vmm pinned registered
	badfree doublefree'

# bats test_tags=guest,long,deep
@test "gpu: memory of every kind: allocations, frees and what is left" {
	# shellcheck disable=SC2086 # several words
	measure gpu -- "$GPU/gpuapp13" $MEMORY
	same
	assert_eq kinds 6 "$(out 'select(.type == "gpu_memory" and .live > 0).kind' | sort -u | wc -l)"
	assert_eq "rows that pitch made longer" 5120 "$(out 'select(.api == "cuMemAllocPitch_v2").bytes' | sort -u)"
	assert_eq "order of what is mapped" '"cuMemCreate" "cuMemRelease" "cuMemCreate"' \
		"$(out 'select(.kind == "vmm" and .api).api' | paste -sd' ')"
	assert_eq "failed frees" 2 "$(events gpu_error '.op == "free" and .error == "CUDA_ERROR_INVALID_VALUE" and .via == "cudaFree"')"
}

@test "gpu: memory by CUDA 12's runtime, and by one that is linked in" {
	# shellcheck disable=SC2086 # several words
	measure gpu -- "$GPU/gpuapp12" $MEMORY
	same '{"comm":"gpuapp12"}'
	# shellcheck disable=SC2086 # several words
	measure gpu -- "$GPU/gpuapp-static" $MEMORY
	same '{"comm":"gpuapp-static","via":false}'
}

@test "gpu: addresses that are given again" {
	FAKECUDA_REUSE=1 measure gpu -- "$GPU/gpuapp13" malloc=50:4096 free=50 malloc=30:4096 free=20 malloc=5:4096
	same
}

@test "gpu: a failed allocation is a failure only, a failed free changes nothing" {
	FAKECUDA_FAIL=cuMemAlloc_v2=2:3,cuMemFree_v2=1:2 measure gpu -- "$GPU/gpuapp13" malloc=5 free=3
	same
	assert_eq "what was asked for" '["cuMemAlloc_v2","cudaMalloc","CUDA_ERROR_OUT_OF_MEMORY",2,12288,"do_malloc"]' \
		"$(out 'select(.type == "gpu_error" and .op == "alloc") | [.api, .via, .error, .code, .bytes, .stack[1]]')"
	assert_eq "what could not be freed" 1 "$(events gpu_error '.op == "free"')"
}

# bats test_tags=guest,long,deep
@test "gpu: exactly the leaks that were planted, by their stacks" {
	n=10000
	[[ -z ${IN_VM:-}$SANITIZED ]] || n=500
	measure gpu -- "$GPU/gpuleak" "$n"
	same '{"comm":"gpuleak"}'
	assert_eq leaks "$(truth '.leaks | map([.stack, .count, .bytes]) | sort')" \
		"$(jq -cn '[inputs | select(.type == "gpu_leak") | [.stack[:(.stack | index("main")) + 1], .count, .bytes]] | sort' out)"
	assert_eq "leaked bytes" "$(truth .leaked.bytes)" "$(sum gpu_leak .bytes)"
	assert_eq owners '"gpuleak"' "$(out 'select(.type == "gpu_leak").owner' | sort -u)"
}

@test "gpu: memory that is held for less than --leak-age is no leak while the process runs" {
	start_app "$GPU/gpuapp13" wait malloc=3 wait
	attach --leak-age 50m
	go
	waiting
	finish
	assert_eq allocations 3 "$(events gpu_alloc)"
	assert_eq leaks 0 "$(events gpu_leak)"
	attach --leak-age 0s
	finish
	assert_eq "leaks of what was not seen" 0 "$(events gpu_leak)"
}

@test "gpu: out of memory: who held it, and that it was tried again" {
	FAKECUDA_LIMIT=10000000 measure gpu -- "$GPU/gpuoom"
	same '{"comm":"gpuoom"}'
	assert_eq "what it was" '["CUDA_ERROR_OUT_OF_MEMORY",1048576,9437184,true,"allocate_piece"]' \
		"$(out 'select(.type == "gpu_oom") | [.error, .bytes, .live_bytes, .retried, .stack[1]]')"
	assert_eq "who held it" '[9,9437184,"allocate_piece"]' "$(out 'select(.type == "gpu_oom").holders[] | [.count, .bytes, .stack[1]]')"
	assert_eq "those before" 8 "$(out 'select(.type == "gpu_oom").last | length')"
	FAKECUDA_LIMIT=10000000 measure gpu -- "$GPU/gpuoom" stay
	same '{"comm":"gpuoom"}'
	assert_eq "not tried again" false "$(out 'select(.type == "gpu_oom").retried')"
	FAKECUDA_LIMIT=10000000 fs_ok gpu -- "$GPU/gpuoom"
	assert_match text "$(<out)" $'\nout of memory\ngpuoom \\[[0-9]+\\] asked for 1.00 MB of device memory on GPU 0\n'
	assert_match text "$(<out)" 'it then freed memory and got the same size'
}

# ---- copies ----

# bats test_tags=once,deep
@test "gpu: copies in every direction, memsets of every form, waits" {
	measure gpu -- "$GPU/gpuapp13" h2d=3 d2h=4 d2d=5 default=2 h2d_async=3 h2d_pinned=4 d2h_async=5 d2d_async=2 peer=3 peer_async=2 2d=2 \
		2d_driver=3 3d=2 batch=3 memset=4 memset_async=3 memsets=2 sync=5 devicesync=3 eventsync=2
	same
	assert_eq "hidden synchronisations" 3 "$(events gpu_sync '.via == "cudaMemcpyAsync" and .stack[1] == "do_h2d_async"')"
	assert_eq "waits in the report" '[["cudaDeviceSynchronize",3],["cudaEventSynchronize",2],["cudaMemcpyAsync",3],["cudaStreamSynchronize",5]]' \
		"$(jq -cn '[inputs | select(.type == "gpu_syncs") | [.via, .calls]] | sort' out)"
	assert_eq "copies in the report" "$(truth '[(.copies, .async_copies)[].n] | add')" \
		"$(sum gpu_copies .copies)"
	assert_eq "asynchronous ones from pageable memory" '["cuMemcpy2DAsync_v2" "cuMemcpy3DAsync_v2" "cuMemcpyBatchAsync_v2" "cuMemcpyHtoDAsync_v2"]' \
		"[$(out 'select(.type == "gpu_copy" and .async and .host == "pageable").api' | sort -u | paste -sd' ')]"
	assert_eq "to and from pinned memory" 9 "$(events gpu_copy '.host == "pinned"')"
	assert_match finding "$(grep gpu_finding out)" 'asynchronous copies from or to pageable host memory'
}

@test "gpu: copies by CUDA 12's runtime, and by one that is linked in" {
	measure gpu -- "$GPU/gpuapp12" h2d=3 d2h=4 d2d=5 default=2 h2d_async=3 h2d_pinned=4 d2h_async=5 2d=2 memset=2 sync=1
	same '{"comm":"gpuapp12"}'
	measure gpu -- "$GPU/gpuapp-static" h2d=3 d2h=4 d2d=5 default=2 h2d_async=3 h2d_pinned=4 d2h_async=5 2d=2 memset=2 sync=1
	same '{"comm":"gpuapp-static"}'
	assert_eq "hidden synchronisations, by their stacks" 3 "$(events gpu_sync '.stack[0] == "cudaMemcpyAsync"')"
}

# timings: of asynchronous copies, in their order.
timings() {
	out 'select(.type == "gpu_copy" and .async).timing' | paste -sd' '
}

@test "gpu: an asynchronous copy is timed where its stream was idle and somebody waited for it" {
	measure gpu -- "$GPU/gpuapp13" devicesync h2d_pinned devicesync h2d_pinned h2d_pinned devicesync launchex h2d_pinned devicesync h2d_pinned
	same
	assert_eq "the first one's stream is not known, the second waits for the first, a kernel is before the next, nobody waits for the last" \
		'"enqueue" "enqueue" "enqueue" "enqueue" "enqueue"' "$(timings)"
	measure gpu -- "$GPU/gpuapp13" h2d_pinned devicesync h2d_pinned devicesync h2d_async
	assert_eq timings '"enqueue" "synchronised" "synchronised"' "$(timings)"
	assert_eq "with a bandwidth" 2 "$(events gpu_copy '.async and .bandwidth > 0')"
}

# ---- failures ----

@test "gpu: failures have their call, their name and their stack" {
	FAKECUDA_FAIL=cuMemcpyHtoD_v2=700:1,cuStreamSynchronize=719,cuMemsetD8_v2=1,cuMemAllocManaged=2,cuCtxSynchronize=702 measure gpu -- \
		"$GPU/gpuapp13" h2d=2 sync=2 memset=1 managed=1 devicesync=1 malloc=1
	same
	assert_eq failures \
		'["copy","cuMemcpyHtoD_v2","cudaMemcpy","CUDA_ERROR_ILLEGAL_ADDRESS",700,"do_h2d"]
["sync","cuStreamSynchronize","cudaStreamSynchronize","CUDA_ERROR_LAUNCH_FAILED",719,"do_sync"]
["sync","cuStreamSynchronize","cudaStreamSynchronize","CUDA_ERROR_LAUNCH_FAILED",719,"do_sync"]
["memset","cuMemsetD8_v2","cudaMemset","CUDA_ERROR_INVALID_VALUE",1,"do_memset"]
["alloc","cuMemAllocManaged","cudaMallocManaged","CUDA_ERROR_OUT_OF_MEMORY",2,"do_managed"]
["sync","cuCtxSynchronize","cudaDeviceSynchronize","CUDA_ERROR_LAUNCH_TIMEOUT",702,"do_devicesync"]' \
		"$(out 'select(.type == "gpu_error") | [.op, .api, .via, .error, .code, .stack[1]]')"
	assert_eq "failures of the process" 6 "$(out 'select(.type == "gpu_process").errors')"
	assert_eq "failures in the report" 6 "$(sum gpu_errors .count)"
	assert_eq "a failed copy has no speed" 0 "$(events gpu_error .bandwidth)"
}

@test "gpu: failures as text" {
	FAKECUDA_FAIL=cuMemAlloc_v2=2,cuStreamSynchronize=719 fs_ok gpu -- "$GPU/gpuapp13" malloc=3 sync=2
	assert_match table "$(<out)" $'\nerrors\nCOUNT  CALL +ERROR +WHERE\n +3  cudaMalloc +CUDA_ERROR_OUT_OF_MEMORY +do_malloc\n +2  cudaStreamSynchronize +CUDA_ERROR_LAUNCH_FAILED +do_sync\n'
}

@test "gpu: failed launches are failures, and no launches" {
	measure gpu --launch-errors -- "$GPU/gpuapp13" launch=3 badlaunch=2 fail=cuLaunchKernel=719 launch=4 driver=1 fail=cuLaunchKernelEx=98 launchex=2 \
		fail=cuGraphLaunch=1 graph=2 fail= launch=1 graph=1
	same '{"comm":"gpuapp13","errors":true}'
	assert_eq "launches that failed" \
		'[["cuGraphLaunch","cudaGraphLaunch","CUDA_ERROR_INVALID_VALUE","do_graph"],2]
[["cuLaunchKernel","cudaLaunchKernel","CUDA_ERROR_INVALID_VALUE","do_badlaunch"],2]
[["cuLaunchKernel","cudaLaunchKernel","CUDA_ERROR_LAUNCH_FAILED","__device_stub__Z9vectorAddiPfc"],4]
[["cuLaunchKernel",null,"CUDA_ERROR_LAUNCH_FAILED","word_do"],1]
[["cuLaunchKernelEx","cudaLaunchKernelExC","error 98","do_launchex"],2]' \
		"$(jq -cn '[inputs | select(.type == "gpu_error") | [.api, .via, .error, .stack[1]]] | group_by(.) | map([.[0], length]) | sort_by(tojson) | .[]' out)"
}

# A program that has opened the real runtime, and waits.
real_runtime() {
	cat >real.c <<-'END'
		#include <dlfcn.h>
		#include <stdio.h>

		int main(int argc, char **argv)
		{
			void *lib = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL, *at = NULL;
			int (*allocate)(void **, size_t) = lib ? dlsym(lib, "cudaMalloc") : NULL;
			int (*copy)(void *, const void *, size_t, int) = lib ? dlsym(lib, "cudaMemcpy") : NULL;
			int (*synchronise)(void) = lib ? dlsym(lib, "cudaDeviceSynchronize") : NULL;
			char text[64] = "", line[16];

			if (!allocate || !copy || !synchronise)
				return 2;
			puts("waiting");
			fflush(stdout);
			if (!fgets(line, sizeof(line), stdin))
				return 2;
			for (int i = 0; i < 3; i++)
				printf("%d ", allocate(&at, 4096));
			printf("%d ", copy(text, text + 32, 32, 1));
			printf("%d\n", synchronise());
			return 0;
		}
	END
	cc -O1 -o real real.c -ldl
}

@test "gpu: the real runtime without a device: every call is told as failed" {
	local lib=/usr/local/cuda-13.0/lib/libcudart.so.13
	not_in_guest
	need_command cc
	[[ -e $lib ]] || skip "CUDA 13's runtime is not installed"
	[[ ! -e /dev/nvidia0 ]] || skip "there is a GPU: the calls would not fail"
	real_runtime
	start_app ./real "$lib"
	attach
	go
	told
	join
	error=$(out 'select(.type == "gpu_error").error' | sort -u)
	assert_match "the one error" "$error" '^"cudaError(InsufficientDriver|NoDevice)"$'
	assert_eq "calls" '[["alloc","cudaMalloc",4096],3] [["copy","cudaMemcpy",32],1] [["sync","cudaDeviceSynchronize",null],1]' \
		"$(jq -cn '[inputs | select(.type == "gpu_error") | [.op, .api, .bytes]] | group_by(.) | map([.[0], length]) | .[]' out | paste -sd' ')"
	assert_eq "nothing succeeded" 0 "$(events gpu_alloc)"
	nothing_lost
}

# ---- processes that come late, die, or are many ----

@test "gpu: a process that runs already: names of its kernels, memory from before" {
	start_app "$GPU/gpuapp13" malloc=5 launch=2 driver=1 gemm=1 wait free=3 launch=4 driver=2 malloc=2 gemm=1 wait free=1
	attach
	go
	waiting
	go
	told
	join
	assert_eq kernels '["triton_poi_fused_add_0",2] ["vectorAdd(int, float*, char)",4]' \
		"$(jq -cn '[inputs | select(.type == "gpu_launch" and (.library | not)).kernel] | group_by(.) | map([.[0], length]) | .[]' out | paste -sd' ')"
	assert_eq "of the library" 2 "$(events gpu_launch '.library == "cublasGemmEx"')"
	assert_eq "frees of memory from before" 4 "$(events gpu_free '.known == false and .bytes == null')"
	assert_eq "and no other" 4 "$(events gpu_free)"
	assert_eq "as the report has it" '[true,4]' "$(out 'select(.type == "gpu_process") | [.before, .unknown_frees]')"
	assert_eq "allocations" 2 "$(events gpu_alloc)"
	assert_eq "its parent" $$ "$(out 'select(.type == "gpu_launch").ppid' | sort -u)"
	nothing_lost
}

@test "gpu: libraries in more files than there are numbers for drivers: none is left out" {
	local i
	for ((i = 0; i < 70; i++)); do
		mkdir "lib$i"
		cp "$FIXTURES/cuda/libcudart.so.13" "lib$i/"
	done
	start_runner "$FIXTURES/cudarunner"
	for ((i = 0; i < 70; i++)); do ask open "$TMP/lib$i/libcudart.so.13"; done
	arm_as gpu -f json -p "$RUNNER"
	ask go cudaMalloc 3 2
	finish
	assert_eq "files" 70 "$(out 'select(.type == "gpu_coverage" and .hooked > 0).file' | sort -u | wc -l)"
	assert_eq "calls of the last one" 3 "$(events gpu_error)"
	nothing_lost
}

@test "gpu: a process that is killed in mid-run: the report is whole" {
	start_app "$GPU/gpuapp13" malloc=1 wait malloc=50 launch=50 h2d_pinned=20 wait
	attach
	go
	waiting
	kill -KILL "$APP"
	wait "$APP" 2>/dev/null || true
	join
	assert_eq allocations 53 "$(events gpu_alloc)"
	assert_eq launches 50 "$(events gpu_launch)"
	assert_eq "copies that nobody waited for" 20 "$(events gpu_copy)"
	assert_eq "its end, its beginning" '[true,true]' "$(out 'select(.type == "gpu_process") | [.ended, .before]')"
	assert_eq "names in the stacks" 50 "$(out 'select(.type == "gpu_leak" and .stack[:2] == ["cudaMalloc", "do_malloc"]).count')"
	nothing_lost
}

@test "gpu: a command that is killed" {
	fs gpu -f json -- sh -c "\"$GPU/gpuapp13\" malloc=1; kill -KILL \$\$"
	assert_eq "exit status" 0 "$status"
	assert_match note "$(<err)" 'was killed by signal 9'
	assert_eq "last line" summary "$(field type "$(last_line)")"
}

# place_of PID FUNCTION: the address of a function of the driver in a process.
place_of() {
	local start offset
	start=$(awk '/libcuda\.so\.1$/ { split($1, at, "-"); print at[1]; exit }' "/proc/$1/maps")
	offset=$(nm -D "$GPU/libcuda.so.1" | awk -v name="$2" '$3 == name { print $1 }')
	echo $((16#$start + 16#$offset))
}

# Libraries that nobody else has probes in: those of the test before may still be coming off.
own_libraries() {
	cp -r "$GPU" own
	GPU=$TMP/own
}

clean() {
	[[ $(memory_at "$APP" "$PLACE") == "$ORIGINAL" ]]
}

@test "gpu: SIGKILL leaves the program running and nothing attached" {
	need_command nm
	own_libraries
	start_app "$GPU/gpuapp13" malloc=1 wait malloc=50 wait malloc=50 free=3
	PLACE=$(place_of "$APP" cuMemAlloc_v2)
	ORIGINAL=$(memory_at "$APP" "$PLACE")
	attach
	! clean || fail "no probe is in the code: this test could not fail"
	go
	waiting
	kill -KILL "$FS"
	wait "$FS" || true
	eventually clean
	go
	told
	assert_eq "what the program did" '[101,3]' "$(truth '[.words.malloc, .words.free]')"
	assert_eq "and how it went" '{}' "$(truth .word_failed)"
}

@test "gpu: the program is as it was after an ordinary end" {
	need_command nm
	own_libraries
	start_app "$GPU/gpuapp13" malloc=1 wait malloc=5 wait malloc=1
	PLACE=$(place_of "$APP" cuMemAlloc_v2)
	ORIGINAL=$(memory_at "$APP" "$PLACE")
	attach
	go
	waiting
	finish
	eventually clean
	assert_eq allocations 5 "$(events gpu_alloc)"
}

@test "gpu: 300 short processes by their name: counts are exact" {
	# a name that nobody else has; one of them is there before, so that the libraries are known
	ln -s "$GPU/gpuapp13" "many$$"
	start_app "./many$$" malloc=1 wait
	arm_as gpu -f json --comm "man?$$"
	for ((i = 0; i < 300; i++)); do
		"./many$$" malloc=2 free=1 >>many
		# others, of whom nobody has asked
		((i % 10)) || "$GPU/gpuapp13" malloc=100 >/dev/null
	done 3>&- 8>&- 9<&-
	finish
	assert_eq truths 300 "$(grep -c '"type":"truth"' many)"
	assert_eq allocations 600 "$(events gpu_alloc)"
	assert_eq frees 300 "$(events gpu_free .known)"
	assert_eq processes "$(jq .pid many | sort)" "$(out 'select(.type == "gpu_alloc").pid' | sort -u)"
	nothing_lost
	# the files are found through processes that have exited before a slow program looks
	[[ -n $SANITIZED ]] ||
		assert_eq "names in the stacks" 600 "$(events gpu_alloc '.stack[:2] == ["cudaMalloc", "do_malloc"]')"
}

hooked() {
	! clean
}

@test "gpu: short processes of a shell: exact from when the libraries were found" {
	need_command nm
	start_app "$GPU/gpuapp13" malloc=1 wait
	ORIGINAL=$(memory_at "$APP" "$(place_of "$APP" cuMemAlloc_v2)")
	kill -KILL "$APP"
	rm -f to from
	mkfifo to from
	# the libraries of a shell's children are not known before one has mapped them: that one waits
	# shellcheck disable=SC2016 # for that shell
	"$FUNCSCOPE" gpu -f json -o out -- sh -c '"$0" malloc=1 wait malloc=1; for i in $(seq 40); do "$0" malloc=3 launch=2; done' \
		"$GPU/gpuapp13" <to >from 2>err 3>&- 8>&- 9<&- &
	FS=$!
	PIDS+=("$FS")
	exec 8>to 9<from
	read -r line <&9
	APP=$(field pid "$line")
	PLACE=$(place_of "$APP" cuMemAlloc_v2)
	eventually hooked
	go
	told
	join
	assert_eq truths 41 "$(truth .pid | wc -l)"
	assert_eq allocations 121 "$(events gpu_alloc)"
	assert_eq launches 80 "$(events gpu_launch '.kernel == "vectorAdd(int, float*, char)"')"
	assert_eq processes "$(truth .pid | sort)" "$(out 'select(.type == "gpu_process").pid' | sort)"
	nothing_lost
}

# ---- outputs ----

@test "gpu: text has its sections, and nothing that a terminal would obey" {
	fs_ok gpu -- "$GPU/gpuapp13" launch=2 malloc=2 h2d=2 h2d_async=1 sync=2 badfree=1
	for title in processes kernels memory copies waits errors leaks findings coverage; do
		grep -q "^$title" out || fail "no section '$title' in: $(<out)"
	done
	assert_match books "$(<out)" $'\nseen ([0-9]+) = kept [0-9]+; missed by the kernel 0'
	ln -s "$GPU/gpuapp13" $'bad\033[31mname'
	fs_ok gpu -- "$TMP/"$'bad\033[31mname' malloc=1 badfree=1
	no_control_bytes out
	fs_ok gpu -f json -o lines -- "$TMP/"$'bad\033[31mname' malloc=1
	no_control_bytes lines
	assert_eq "its name, whole" '"bad\u001b[31mname"' "$(jq -a 'select(.type == "gpu_alloc").comm' lines)"
}

@test "gpu: a trace for Perfetto: threads, streams, a counter of memory" {
	"$FUNCSCOPE" gpu -f perfetto -o trace.json -- "$GPU/gpuapp13" launch=5 malloc=3 free=1 h2d=2 sync=1 >truth 2>err 3>&- </dev/null ||
		fail "$(<err)"
	jq -e . trace.json >/dev/null || fail "no JSON"
	pid=$(truth .pid)
	# on the thread's track, and on the stream's
	assert_eq "launches of the thread" 5 "$(jq "[.traceEvents[] | select(.ph == \"X\" and .tid == $pid and .name == \"cuLaunchKernel\")] | length" trace.json)"
	assert_eq "kernels of the stream" 5 "$(jq '[.traceEvents[] | select(.ph == "X" and .cat == "enqueued" and .name == "vectorAdd(int, float*, char)")] | length' trace.json)"
	assert_eq "tracks of streams" 2 "$(jq '[.traceEvents[] | select(.ph == "M" and .name == "thread_name" and (.args.name | startswith("stream 0x")))] | length' trace.json)"
	assert_eq "the last of the counter" "$(truth .live.device.bytes)" \
		"$(jq '[.traceEvents[] | select(.ph == "C" and .name == "GPU memory")] | sort_by(.ts) | last.args.bytes' trace.json)"
}

@test "gpu: stacks of launches, and of bytes, as folded lines and as a flame graph" {
	fs_ok gpu -f folded -o lines -- "$GPU/gpuapp13" launch=7 malloc=3
	assert_match launches "$(<lines)" 'main;run;word_do;do_launch;.*;vectorAdd\(int, float\*, char\) 7$'
	fs_ok gpu -f folded --flames bytes -o lines -- "$GPU/gpuapp13" launch=7 malloc=3
	assert_match bytes "$(<lines)" 'main;run;word_do;do_malloc;.* 24576$'
	fs_ok gpu -f flamegraph -o graph.svg -- "$GPU/gpuapp13" launch=7
	grep -q '<svg ' graph.svg || fail "no picture"
	grep -q vectorAdd graph.svg || fail "the kernel is not in it"
}

@test "gpu: numbers for Prometheus" {
	local port
	need_command curl
	need_command promtool
	need_command python3
	port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
	start_app "$GPU/gpuapp13" wait launch=4 malloc=3 free=1 h2d=2 sync=2 badfree=1 wait
	attach --listen "127.0.0.1:$port"
	go
	waiting
	eventually page_has "$port" '^funcscope_gpu_launches_total[{ ].* 4$'
	promtool check metrics <page >verdict 2>&1 || fail "$(<verdict)"
	assert_eq "what promtool says" '' "$(<verdict)"
	no_control_bytes page
	finish
}

@test "gpu: the page over TLS, with a token and client certificates" {
	local page
	need_command curl
	need_command openssl
	need_command python3
	page=https://localhost:$(python3 -c 'import socket; s = socket.socket(); s.bind(("", 0)); print(s.getsockname()[1])')
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost \
		-addext subjectAltName=DNS:localhost -keyout key.pem -out cert.pem 2>/dev/null
	openssl rand -hex 32 >token
	start_app "$GPU/gpuapp13" wait launch=4 wait
	attach --listen "127.0.0.1:${page##*:}" --listen-cert cert.pem --listen-key key.pem --listen-client-ca cert.pem \
		--listen-token token
	go
	waiting
	curl -sS -f --cacert cert.pem --cert cert.pem --key key.pem -H "Authorization: Bearer $(<token)" "$page/metrics" >got
	grep -q "^funcscope_gpu_launches_total" got || fail "$(<got)"
	! curl -sS -f --cacert cert.pem --cert cert.pem --key key.pem "$page/metrics" 2>curl.err || fail "no token"
	assert_match "no token" "$(<curl.err)" 401
	! curl -sS --cacert cert.pem -H "Authorization: Bearer $(<token)" "$page/metrics" 2>curl.err || fail "no certificate"
	finish
}

page_has() {
	curl -sS --noproxy '*' --max-time 5 "http://127.0.0.1:$1/metrics" >page 2>/dev/null
	grep -qE "$2" page
}

@test "gpu: a copy that is not waited for yet stays so, however often the page is read" {
	local port i
	need_command curl
	need_command python3
	port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
	start_app "$GPU/gpuapp13" wait devicesync h2d_pinned devicesync h2d_pinned wait devicesync wait
	attach --listen "127.0.0.1:$port" -i 0.1
	go
	waiting
	eventually page_has "$port" '^funcscope_gpu_copies_pending 1$'
	for ((i = 0; i < 5; i++)); do page_has "$port" '^funcscope_gpu_copies_pending 1$' || fail "$(<page)"; done
	assert_eq "copies on the page" 1 "$(awk '/^funcscope_gpu_memcpy_copies_total[{ ]/ { n += $NF } END { print n + 0 }' page)"
	go
	waiting
	eventually page_has "$port" '^funcscope_gpu_copies_pending 0$'
	finish
	assert_eq "the first one's stream is not known, the second was waited for" '"enqueue" "synchronised"' "$(timings)"
	assert_eq "of the last report" 0 "$(out 'select(.type == "gpu_report" and .last).pending_copies')"
	nothing_lost
}

@test "gpu: reports of stretches, until the time is over" {
	start_app "$GPU/gpuapp13" wait launch=4 malloc=3 wait
	attach -i 0.1 -d 0.8
	go
	waiting
	join
	(($(events gpu_report) >= 2)) || fail "$(events gpu_report) reports"
	assert_eq "last ones" 1 "$(events gpu_report .last)"
	assert_eq "launches" 4 "$(events gpu_launch)"
	assert_eq "of the last report" 4 "$(out 'select(.type == "gpu_report" and .last).launches')"
	nothing_lost
}

@test "gpu: stacks of launches on request, of none on request" {
	measure gpu --stacks -- "$GPU/gpuapp13" launch=6 malloc=2 h2d=2
	same
	assert_eq "stacks of launches" 6 "$(events gpu_launch '.stack[0] == "cudaLaunchKernel" or .stack[1] == "cudaLaunchKernel"')"
	assert_eq "stacks of copies" 2 "$(events gpu_copy '.stack[:2] == ["cudaMemcpy", "do_h2d"]')"
	measure gpu --stacks --sample 3 -- "$GPU/gpuapp13" launch=6
	assert_eq "one in three" 2 "$(events gpu_launch .stack)"
	measure gpu --no-stacks -- "$GPU/gpuapp13" launch=6 malloc=2 h2d=2
	same
	assert_eq stacks 0 "$(jq -n '[inputs | select(.stack)] | length' out)"
}

# ---- Python ----

# A script that leaks in a function of a function, at lines that it says.
python_script() {
	cat >leak.py <<-'END'
		import ctypes
		import sys

		cudart = ctypes.CDLL(sys.argv[1])


		def inner(size):
		    at = ctypes.c_void_p()
		    return cudart.cudaMalloc(ctypes.byref(at), ctypes.c_size_t(size))


		def outer(n):
		    for _ in range(n):
		        inner(4096)


		outer(1)
		print("waiting", flush=True)
		sys.stdin.readline()
		outer(3)
		inner(100)
		print("waiting", flush=True)
		sys.stdin.readline()
	END
}

@test "gpu: Python's functions, files and lines of what leaks" {
	not_in_guest
	[[ -x /usr/bin/python3 ]] || skip "/usr/bin/python3 is not installed"
	python_script
	start_app /usr/bin/python3 leak.py "$GPU/libcudart.so.13"
	attach --python --leak-age 0s
	go
	waiting
	finish
	assert_eq leaks '[300,["inner (PATH:9)","<module> (PATH:21)"],1] [12288,["inner (PATH:9)","outer (PATH:14)","<module> (PATH:20)"],3]' \
		"$(jq -cn '[inputs | select(.type == "gpu_leak") | [.bytes * if .bytes < 4096 then 3 else 1 end, (.python | map(sub("\\(.*leak.py"; "(PATH"))), .count]] | sort | .[]' out | paste -sd' ')"
	assert_eq "said to be Python" true "$(out 'select(.type == "gpu_process").python')"
}

# ---- bad input ----

@test "gpu: bad input is answered with one sentence" {
	fs_error 2 "unknown option '--nope'" gpu --nope
	fs_error 2 "gpu takes no probes, but got 'libcuda:cuInit'" gpu libcuda:cuInit
	fs_error 2 "leak-age takes a time.*'x'" gpu --leak-age x
	fs_error 2 'no-stacks and --stacks cannot be combined' gpu --no-stacks --stacks
	fs_error 2 'no-stacks and --python cannot be combined' gpu --no-stacks --python
	fs_error 1 'no process or thread 999999999 is running' gpu -p 999999999
	fs_error 2 '-f csv cannot show GPU data' gpu -f csv
	fs_error 2 '-i takes 0.1 seconds or more' gpu -i 0.01
	fs_error 2 "--flames" gpu --flames nothing
	fs_error 2 "--flames needs -f folded" gpu --flames bytes
	fs_error 2 "--sample needs --stacks" gpu --sample 3
	fs_error 2 "'nowhere' is not a port" gpu --listen nowhere -- true
	fs_error 2 'need --listen ADDR' gpu --listen-token x -- true
	fs_error 2 'both --listen-cert and --listen-key' gpu --listen :0 --listen-cert x -- true
	fs_error 2 '--listen-group needs --listen unix:PATH' gpu --listen :0 --listen-group x -- true
	fs_error 1 "cannot open '/nonexistent'" gpu --listen :0 --listen-token /nonexistent -- true
	fs_error 1 "cannot run '/nonexistent'" gpu -- /nonexistent
}

@test "gpu: without privilege it says what is missing" {
	as_nobody gpu -- true
	check_error 1 '(root|CAP_|privilege|permi)' "gpu -- true"
}

@test "--dwarf: stacks of programs without frame pointers, through calls whose returns are caught" {
	run_gpu() { fs_ok gpu --stacks "$@" -f json -- "$FIXTURES/cudaapp" cudaMalloc=2 cudaMemcpy=3 cudaLaunchKernel=4; }
	run_gpu --dwarf
	assert_eq "stacks" 9 "$(rows | grep -E '"type":"gpu_(alloc|copy|launch)"' | grep -c '"stack":\["call","obey","main",.*"_start"\]')"
	fs_error 2 'cannot be combined' gpu --no-stacks --dwarf -d 0.1
}
