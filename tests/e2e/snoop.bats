# The monitor: exact counts, percentiles, slow calls and errors; processes and libraries that come and go; requests; changes of the
# configuration under load; receivers that fail; bad input.
load common
load measure
load snoop

setup() { e2e_setup; }
teardown() { e2e_teardown; }

# The fixture libraries by their places: known before any process has mapped them.
cuda_libraries() {
	printf '"libraries": {"cuda": "%s", "cublas": "%s", "cudnn": "%s", "nccl": "%s", "libtorch": "%s"}' \
		"$FIXTURES/cuda/libcudart.so.13" "$FIXTURES/cuda/libcublas.so.13" "$FIXTURES/cuda/libcudnn.so.9" \
		"$FIXTURES/cuda/libnccl.so.2" "$FIXTURES/cuda/libtorch_cpu.so"
}

# ---- the sample, as printed ----

SAMPLE_CUDA='cudaMalloc cudaFree cudaDeviceSynchronize cudaGetLastError cudaGetDevice'
SAMPLE_CUDNN='cudnnCreate cudnnDestroy cudnnConvolutionForward cudnnConvolutionBackwardData'
SAMPLE_NCCL='ncclCommInitRank ncclAllReduce ncclBroadcast'

@test "the printed sample, against the fixture libraries: counts are exact, errors have their names" {
	local f
	start_runner "$FIXTURES/cudaapp" ask
	cp "$E2E_TOP/tests/fixtures/snoop-seed.json" snoop.json
	snoop --no-socket -p "$RUNNER"
	ask all=20
	for f in $SAMPLE_CUDA; do ask "$f=7:100"; done
	ask cudaMalloc=3:2
	for f in $SAMPLE_CUDNN; do ask "$f=5:2002"; done
	for f in $SAMPLE_NCCL; do ask "$f=4:5"; done
	ask linear_forward=6:1
	ended
	for f in $SAMPLE_CUDA; do
		[[ $f == cudaMalloc ]] || assert_timed "$f" 27
		assert_eq "errors of $f" 7 "$(errors_of "$f" cudaErrorNoDevice)"
	done
	assert_timed cudaMalloc 30
	assert_eq "no memory" 3 "$(errors_of cudaMalloc cudaErrorMemoryAllocation)"
	for f in $SAMPLE_CUDNN; do
		assert_timed "$f" 25
		assert_eq "errors of $f" 5 "$(errors_of "$f" CUDNN_STATUS_BAD_PARAM_NULL_POINTER)"
	done
	for f in $SAMPLE_NCCL; do
		assert_timed "$f" 24
		assert_eq "errors of $f" 4 "$(errors_of "$f" ncclInvalidUsage)"
	done
	assert_timed linear_forward 26
	assert_timed vectorAdd 20
	assert_eq "rows" 14 "$(rows type=latency | wc -l)"
	assert_eq "rows of errors" 13 "$(rows type=errors | wc -l)"
	assert_eq "returns without an entry" 0 "$(summary unmatched_returns)"
}

@test "the printed sample as text: the error table names the error, the rankings are there" {
	start_runner "$FIXTURES/cudaapp" ask
	arm_as snoop -c "$E2E_TOP/tests/fixtures/snoop-seed.json" -f text --no-socket -p "$RUNNER"
	ask cudaMalloc=9:100
	ask cudaFree=3
	finish
	assert_match "error table" "$(<out)" 'cuda +[^ ]*cudaMalloc +cudaErrorNoDevice +100 +9'
	assert_match rankings "$(<out)" 'most called.*slowest on average.*errors'
	assert_match "order" "$(sed -n '/most called/,/^$/p' out)" 'cudaMalloc .*cudaFree '
	assert_match books "$(<out)" 'seen 12 = kept 12'
	refute_match "width" "$(awk 'length > 140' out)" .
}

@test "the printed sample, against the real libraries, without a GPU" {
	local cuda
	not_in_guest
	cuda=$(dirname "$(dirname "$(realpath "$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)")")")
	cuda=$(find "$cuda" -name 'libcudart.so.13' -print -quit 2>/dev/null || true)
	[[ -n $cuda ]] || skip "CUDA 13 is not installed"
	[[ ! -e /dev/nvidia0 ]] || skip "there is a GPU: the calls would not fail"
	start_runner "$FIXTURES/cudarunner"
	ask open "$cuda"
	cp "$E2E_TOP/tests/fixtures/snoop-seed.json" snoop.json
	snoop --no-socket -p "$RUNNER"
	ask go cudaMalloc 5
	ask go cudaDeviceSynchronize 4
	ask go cudaGetDevice 3
	ended
	assert_timed cudaMalloc 5
	assert_timed cudaDeviceSynchronize 4
	assert_timed cudaGetDevice 3
	assert_match "errors" "$(rows type=errors function=cudaMalloc)" '"error":"cudaError(NoDevice|InsufficientDriver)","count":5'
	assert_match "errors" "$(rows type=errors function=cudaDeviceSynchronize)" '"error":"cudaError[A-Za-z]*","count":4'
}

# ---- exact ----

@test "a command, from its first call" {
	configure '"custom_sym": {"work": "work"}'
	snoop_run -- "$FIXTURES/calls" 2003
	assert_timed work 2003
}

@test "a command with libraries that the loader finds by the program's own path, from its first call" {
	configure '"cuda_func_sym": {"malloc": "cudaMalloc"}, "nccl_func_sym": {"reduce": "ncclAllReduce"}'
	snoop_run -- "$FIXTURES/cudaapp" cudaMalloc=11:100 ncclAllReduce=7
	assert_timed malloc 11
	assert_timed reduce 7
	assert_eq errors 11 "$(errors_of malloc cudaErrorNoDevice)"
}

is_watched() {
	ctl list
	grep -q '"type":"function".*"function":"'"$1"'"' "$TMP/answer"
}

# The kernel would keep the instructions of the first build as long as one probe is there.
@test "a watched file that is rewritten: its probes go, and its new functions are found" {
	"$FIXTURES/rewritten-second" >truth
	cp "$FIXTURES/rewritten" p
	configure '"custom_sym": {"work": {"symbol": "work", "library": "'"$TMP/p"'"}, "other": {"symbol": "other", "library": "'"$TMP/p"'"}}'
	snoop
	./p >/dev/null
	cp "$FIXTURES/rewritten-second" p
	eventually grep -q "p was written to: its probes are taken off" err
	eventually is_watched other
	./p >got
	cmp truth got || fail "$(<got)"
	ended
	assert_timed other 10
	assert_timed work 20
}

@test "a library by a relative path is that of the working directory" {
	cp "$FIXTURES/calls" mine
	configure '"custom_sym": {"work": {"symbol": "work", "library": "./mine"}}'
	snoop_run -- "$TMP/mine" 101
	assert_timed work 101
}

@test "a command of the configuration, and its children, by process" {
	configure '"custom_sym": {"work": "work"}, "report": {"every": "0", "by_process": true},
		"targets": {"command": ["'"$FIXTURES/forks"'", "2003", "7"]}'
	snoop_run
	assert_timed work 2003
	assert_eq processes 8 "$(values pid type=latency | sort -u | wc -l)"
	assert_eq "the parent's calls" 253 "$(values count type=latency | sort -n | tail -n 1)"
	assert_eq "a child's calls" 250 "$(values count type=latency | sort -n | head -n 1)"
}

# bats test_tags=guest,deep
@test "every library's functions and errors, a command that is linked with them" {
	configure '"presets": ["cuda", "cublas", "cudnn", "nccl"], "custom_sym": {"vectorAdd": "vectorAdd"},' "$(cuda_libraries)"
	snoop_run -- "$FIXTURES/cudaapp" all=13 cudaMalloc=5:2 cublasSgemm=3:13 cudnnCreate=2:1001 ncclAllReduce=6:3
	assert_timed cudaMalloc 18
	assert_timed cudaMemcpyAsync 13
	assert_timed vectorAdd 13
	assert_eq "cuda" 5 "$(errors_of cudaMalloc cudaErrorMemoryAllocation)"
	assert_eq "cublas" 3 "$(values count type=errors error=CUBLAS_STATUS_EXECUTION_FAILED)"
	assert_eq "cudnn" 2 "$(errors_of cudnnCreate CUDNN_STATUS_NOT_INITIALIZED)"
	assert_eq "nccl" 6 "$(errors_of ncclAllReduce ncclInternalError)"
}

@test "exceptions of a C++ library pass through the function of a C program" {
	local program
	for program in plugged plugged-linked; do
		configure '"custom_sym": {"carry": {"symbol": "carry", "library": "'"$FIXTURES/$program"'"}}'
		start_runner "$FIXTURES/$program" ask
		ask load
		snoop
		ask go
		assert_eq "$program" "carried 5, caught 5" "$WORD $ANSWER"
		finish
		stop_runner
	done
}

@test "libraries that are linked in" {
	configure '"cuda_func_sym": {"cudaMalloc": "cudaMalloc", "copies": "cudaMemcpy*"}, "nccl_func_sym": {"all": "nccl*"}'
	snoop_run -- "$FIXTURES/cudaapp-static" cudaMalloc=11:100 cudaMemcpy=5 cudaMemcpyAsync=6 ncclAllReduce=7:3 ncclBroadcast=2
	assert_timed cudaMalloc 11
	assert_timed cudaMemcpy 5
	assert_timed cudaMemcpyAsync 6
	assert_timed ncclAllReduce 7
	assert_timed ncclBroadcast 2
	assert_eq binary "$FIXTURES/cudaapp-static" "$(values binary type=latency | sort -u)"
	assert_eq "errors" 7 "$(errors_of ncclAllReduce ncclInternalError)"
}

@test "globs: each function by its own name, a name once, errors as each is called" {
	configure '"cuda_func_sym": {"every": "cuda*"}, "libtorch_func_sym": {"linear": "torch::nn::LinearImpl::forward*"},' "$(cuda_libraries)"
	snoop_run -- "$FIXTURES/cudaapp" all=3:100
	assert_eq "functions" 9 "$(rows type=latency | wc -l)"
	assert_eq "calls" 27 "$(calls type=latency)"
	assert_eq "kinds of errors" cudaErrorNoDevice "$(values error type=errors | sort -u)"
	assert_eq "functions with errors" 8 "$(rows type=errors | wc -l)"
}

@test "40 functions, 16 threads, 8 processes: counts, percentiles and slow calls as planned" {
	local i
	not_in_guest
	need_command python3
	configure '"sched_func_sym": {"all": "f[0-3][0-9]"}, "libraries": {"sched": "'"$FIXTURES/libsched.so"'"}, "slow": "50ms",
		"keep": {"slowest": 1000}, "warnings": 0, "targets": {"names": ["schedule"]}'
	snoop
	subscribe --type slow
	"$FIXTURES/schedule" calls "${SCHEDULE_ROUNDS:-32}" >truth 3>&- 8>&- 9<&-
	i=$(grep -o '"count":[0-9]*' truth | awk -F: '{ n += $2 } END { print n }')
	eventually counted_total "$i"
	ctl stats --slow-calls
	cp answer slow
	ended
	assert_eq seen "$i" "$(summary seen)"
	run python3 "$E2E_TOP/tests/e2e/snoop_truth.py" out truth slow
	assert_eq "what differs" '' "$output"
	assert_eq "slow calls as events" "$(grep -c '"slow":true' slow)" "$(grep -c '"slow":true' events)"
}

counted_total() {
	ctl stats
	[[ $(grep -o '"kept":[0-9]*' answer) == "\"kept\":$1" ]]
}

@test "slow is what each function's threshold says; calls come with arguments and stack" {
	configure '"slow": "1s", "custom_sym": {"vectorAdd": "vectorAdd"}, "cuda_func_sym": {
		"cudaMalloc": {"symbol": "cudaMalloc", "slow": "1ms"}, "cudaFree": {"symbol": "cudaFree", "slow": "off"},
		"cudaMemcpy": "cudaMemcpy", "cudaMemcpyAsync": {"symbol": "cudaMemcpyAsync", "slow": "1ns"}},' "$(cuda_libraries)"
	snoop_run -- "$FIXTURES/cudaapp" cudaMalloc=4:2:3000 cudaFree=4:0:3000 cudaMemcpy=4:0:3000 cudaMalloc=2 cudaMemcpyAsync=3:0:3000
	assert_eq cudaMalloc 4 "$(values slow type=latency function=cudaMalloc)"
	assert_eq cudaFree 0 "$(values slow type=latency function=cudaFree)"
	assert_eq cudaMemcpy 0 "$(values slow type=latency function=cudaMemcpy)"
	assert_eq cudaMemcpyAsync 3 "$(values slow type=latency function=cudaMemcpyAsync)"
	assert_eq "kept ones" 7 "$(rows type=call slow=true | wc -l)"
	assert_eq "arguments" 4 "$(rows type=call function=cudaMalloc | grep -cE '"args":\[100[0-3],2,3,4,5,6\],"ret":2')"
	assert_eq "stacks" 7 "$(rows type=call | grep -c '"stack":\["cuda[^]]*main')"
	assert_match "a warning at once" "$(<err)" 'warning: cudaMalloc took [0-9.]+ ms in cudaapp, process [0-9]+.*slow from 1.00 ms; it returned cudaErrorMemoryAllocation'
}

@test "--dwarf, or \"dwarf\": true: stacks of programs without frame pointers" {
	configure '"slow": "100us", "custom_sym": {"chain_leaf": {"symbol": "chain_leaf", "library": "'"$FIXTURES/chains-nofp"'"}},' '"dwarf": true'
	snoop_run -- "$FIXTURES/chains-nofp" 3 2 1000
	assert_eq "by the file" 3 "$(rows type=call slow=true | grep -c '"stack":\["chain_leaf","chain_c","chain_b","chain_a","main"')"
	configure '"slow": "100us", "custom_sym": {"chain_leaf": {"symbol": "chain_leaf", "library": "'"$FIXTURES/chains-nofp"'"}},' '"stacks": true'
	snoop_run --dwarf -- "$FIXTURES/chains-nofp" 3 2 1000
	assert_eq "by the option" 2 "$(rows type=call slow=true | grep -c '"stack":\["chain_leaf","chain_x","main"')"
}

@test "the slow call with which a process ends has a stack with names" {
	local i
	cp "$FIXTURES/cudaapp" mine
	configure '"cuda_func_sym": {"cudaMalloc": {"symbol": "cudaMalloc", "slow": "1ms"}}, "targets": {"names": ["mine"]}, "warnings": 0,
		"keep": {"latest": 100}, "report": {"every": "0", "top": 0},' "$(cuda_libraries)"
	snoop
	for ((i = 0; i < 20; i++)); do LD_LIBRARY_PATH=$FIXTURES/cuda "$TMP/mine" cudaMalloc=1:2:3000 3>&- >/dev/null; done
	eventually monitor_says slow_calls 20
	ended
	assert_eq "slow ones" 20 "$(rows type=call slow=true | wc -l)"
	assert_eq "with names" 20 "$(rows type=call | grep -c '"stack":\["cuda[^]]*main')"
}

@test "warnings are limited, and what was not said is counted" {
	configure '"slow": "100us", "warnings": 2, "cuda_func_sym": {"cudaMalloc": "cudaMalloc"},' "$(cuda_libraries)"
	snoop_run -- "$FIXTURES/cudaapp" cudaMalloc=200:0:300
	assert_eq "slow" 200 "$(values slow type=latency)"
	assert_match "the rest" "$(<err)" 'more slow calls were not logged'
	assert_eq "said and not said" 200 "$(awk '/ took / { n++ } / more slow calls/ { for (i = 1; i <= NF; i++) if ($i == "more") n += $(i - 1) }
		END { print n }' err)"
	(($(grep -c ' took ' err) <= 20)) || fail "$(wc -l <err) lines"
}

@test "less than one warning a second is one now and then" {
	configure '"slow": "100us", "warnings": 0.001, "cuda_func_sym": {"cudaMalloc": "cudaMalloc"},' "$(cuda_libraries)"
	snoop_run -- "$FIXTURES/cudaapp" cudaMalloc=50:0:300
	assert_eq "said" 1 "$(grep -c ' took ' err)"
	assert_match "not said" "$(<err)" '49 more slow calls were not logged'
}

@test "every call as an event: entries and returns are pairs" {
	start_runner "$FIXTURES/cudaapp" ask
	configure '"sample": 1, "cuda_func_sym": {"cudaMalloc": "cudaMalloc"}, "targets": {"pids": ['"$RUNNER"']}'
	snoop
	subscribe --type call
	ask cudaMalloc=300:2
	eventually events_are return 300
	ended
	assert_timed cudaMalloc 300
	assert_eq entries 300 "$(events entry)"
	assert_eq "arguments of entries" 300 "$(grep '"event":"entry"' events | grep -oE '"args":\[1[0-9]{3},2,3,4,5,6\]' | sort -u | wc -l)"
	assert_eq "entry, return, entry, ..." "entry return" "$(grep -o '"event":"[a-z]*"' events | cut -d'"' -f4 | paste - - | sort -u | tr '\t' ' ')"
	assert_eq "what they returned" 300 "$(grep '"event":"return"' events | grep -c '"ret":2,"duration_ns"')"
	assert_eq "times" '' "$(grep -o '"time_ns":[0-9]*' events | cut -d: -f2 | sort -nc 2>&1)"
}

@test "one call in ten as an event" {
	start_runner
	configure '"sample": 10, "custom_sym": {"work": "work"}, "targets": {"pids": ['"$RUNNER"']}'
	snoop
	subscribe
	ask go 1000
	eventually events_are return 100
	ended
	assert_timed work 1000
	assert_eq entries 100 "$(events entry)"
}

# told N: the reports of stretches have so many calls in them.
told() {
	[[ $(awk '/"type":"report"/ { whole = /"whole":true/ } !whole && /"type":"latency"/ && match($0, /"count":[0-9]+/) {
		n += substr($0, RSTART + 8, RLENGTH - 8) } END { print n + 0 }' out) == "$1" ]]
}

@test "reports of stretches add up to the whole" {
	start_runner
	configure '"custom_sym": {"work": "work"}, "targets": {"pids": ['"$RUNNER"']}, "report": {"every": "100ms"}'
	snoop
	ask go 300
	eventually told 300
	ask go 53
	ask go 7
	eventually told 360
	finish
	assert_eq "reports of the whole" 1 "$(grep -c '"whole":true' out)"
	sed -i '1,/"whole":true/d' out
	closed latency
	assert_timed work 360
}

# ---- files ----

# stretches FILE...: calls of work in the reports of stretches.
stretches() {
	cat "$@" | sed '/"whole":true/,$d' | sed -n 's/.*"type":"latency".*"function":"work".*"count":\([0-9]*\).*/\1/p' | awk '{ n += $1 } END { print n + 0 }'
}

stretches_are() {
	[[ $(stretches "${@:2}") == "$1" ]]
}

dropped_reports() {
	(($(on_page funcscope_reports_dropped_total) >= $1))
}

@test "a file that cannot be written to does not end the monitor; at the end it is an error" {
	need_command curl
	[[ -e /dev/full ]] || skip "no /dev/full"
	start_runner
	PAGE_PORT=$(free_port)
	configure '"custom_sym": {"work": "work"}, "targets": {"pids": ['"$RUNNER"']}, "report": {"every": "100ms", "to": "/dev/full"},
		"prometheus": {"listen": ":'"$PAGE_PORT"'"}'
	snoop
	eventually dropped_reports 3
	ask go 20
	eventually counted_is work 20
	assert_eq "said once" 1 "$(grep -c 'could not be written' err)"
	assert_match "what" "$(<err)" 'a report could not be written to /dev/full: No space left on device; the next one that can covers its time'
	kill -INT "$FS"
	wait "$FS" && fail "it must not end as if all was well"
	assert_match "the last report" "$(<err)" "funcscope: cannot write to '/dev/full': No space left on device"
	assert_match "counted" "$(<err)" '[0-9]+ reports could not be written'
}

@test "a disk that is full for a while: no line is torn, and the next report covers what was left out" {
	not_in_guest
	need_command curl
	need_command unshare
	local program=$FUNCSCOPE small log
	start_runner
	PAGE_PORT=$(free_port)
	mkdir small
	printf '#!/bin/sh\nmount -t tmpfs -o size=32k none "%s/small" && exec "%s" "$@"\n' "$TMP" "$program" >in_small
	chmod +x in_small
	printf '#!/bin/sh\nexec unshare --mount "%s/in_small" "$@"\n' "$TMP" >wrapped
	chmod +x wrapped
	unshare --mount mount -t tmpfs none small 2>/dev/null || skip "no tmpfs can be mounted here"
	configure '"custom_sym": {"work": "work"}, "targets": {"pids": ['"$RUNNER"']}, "report": {"every": "100ms", "to": "'"$TMP/small/log"'"},
		"prometheus": {"listen": ":'"$PAGE_PORT"'"}'
	FUNCSCOPE=$TMP/wrapped snoop
	small=/proc/$FS/root$TMP/small
	exec {log}<"$small/log"
	ask go 100
	eventually stretches_are 100 "$small/log"
	cat /dev/zero >"$small/fill" 2>/dev/null || true
	eventually dropped_reports 2
	ask go 30
	dropped=$(on_page funcscope_reports_dropped_total)
	eventually dropped_reports $((dropped + 2))
	rm "$small/fill"
	eventually grep -q "reports are written to $TMP/small/log again; [0-9]* were not" err
	ask go 7
	eventually stretches_are 137 "$small/log"
	finish
	cat <&"$log" >out
	exec {log}<&-
	assert_eq "lines of JSON" "$(wc -l <out)" "$(jq -c . out | wc -l)"
	assert_eq "said once" 1 "$(grep -c 'could not be written to' err)"
	assert_eq "stretches" 137 "$(stretches out)"
	sed -i '1,/"whole":true/d' out
	assert_timed work 137
}

@test "rotation: a file that was renamed is left at SIGHUP, one that was not goes on" {
	start_runner
	configure '"custom_sym": {"work": "work"}, "targets": {"pids": ['"$RUNNER"']}, "report": {"every": "100ms", "to": "log"}'
	snoop
	ask go 100
	eventually stretches_are 100 log
	kill -HUP "$FS"
	eventually reloaded 1
	assert_eq "not truncated" 100 "$(stretches log)"
	mv log log.1
	ask go 20
	eventually stretches_are 120 log.1
	kill -HUP "$FS"
	eventually grep -q 'opened log again' err
	ask go 3
	eventually stretches_are 3 log
	assert_eq "the old one" 120 "$(stretches log.1)"
	finish
	assert_match "the end" "$(<log)" '"whole":true'
	refute_match "the end" "$(<log.1)" '"whole":true'
}

@test "reload: reports go to another file; one that cannot be opened leaves everything as it was" {
	local more='"custom_sym": {"work": "work"}, "targets": {"pids": ['
	start_runner
	configure "$more$RUNNER"']}, "report": {"every": "100ms", "to": "one"}'
	snoop
	ask go 100
	eventually stretches_are 100 one
	configure "$more$RUNNER"']}, "report": {"every": "100ms", "to": "no/such/directory/two"}'
	eventually monitor_says failed_reloads 1
	assert_match why "$(<err)" "cannot write to 'no/such/directory/two': No such file or directory; the previous configuration stays in force"
	ask go 5
	eventually stretches_are 105 one
	echo '{"type":"kept"}' >two
	configure "$more$RUNNER"']}, "report": {"every": "100ms", "to": "two"}'
	eventually reloaded 1
	ask go 20
	eventually stretches_are 20 two
	assert_match "what was there" "$(head -n 1 two)" kept
	assert_eq "the old one" 105 "$(stretches one)"
	configure "$more$RUNNER"']}, "report": {"every": "100ms"}'
	eventually reloaded 2
	ask go 3
	eventually stretches_are 3 out
	finish
	assert_match "the end" "$(<out)" '"whole":true'
}

# short_of_memory: another process, whose numbers want room.
short_of_memory() {
	"$FIXTURES/many" >/dev/null
	grep -q 'out of memory: a report is left out, the next one covers its time' err
}

counted_in_all() {
	ctl stats
	sed -n 's/.*"type":"latency".*"count":\([0-9]*\).*/\1/p' answer | awk '{ n += $1 } END { print n + 0 }'
}

counted_in_all_is() {
	[[ $(counted_in_all) == "$1" ]]
}

@test "out of memory: what is left out is said, and everything goes on with what there is" {
	need_command prlimit
	[[ -z $SANITIZED ]] || skip "a sanitized program ends when memory is out"
	local before
	configure '"custom_sym": {"many": "many_*"}, "libraries": {"custom": "'"$FIXTURES/many"'"}, "targets": {"names": ["many"]},
		"keep": {"rows": 100000}, "report": {"every": "100ms", "by_process": true, "to": "log"}'
	snoop
	prlimit --pid "$FS" --as=1:unlimited
	eventually short_of_memory
	prlimit --pid "$FS" --as=unlimited:unlimited
	eventually grep -q 'memory suffices again (report; left out: [0-9]*)' err
	"$FIXTURES/many" >/dev/null
	before=-1
	until [[ $(counted_in_all) == "$before" ]]; do before=$(counted_in_all); done
	"$FIXTURES/many" >/dev/null
	eventually counted_in_all_is $((before + 300))
	finish
	assert_eq "lines of JSON" "$(wc -l <log)" "$(jq -c . log | wc -l)"
}

# seven: calls of work are counted again.
seven() {
	local n
	n=$(counted work)
	ask go 7
	[[ $(counted work) == $((n + 7)) ]]
}

is_detached() {
	ctl list
	grep -q '"function":"work".*"detached":true' answer
}

@test "the budget: a function that costs too much is detached, and said so; it comes back by itself, or by a reload" {
	local n
	need_command curl
	start_runner
	PAGE_PORT=$(free_port)
	configure '"custom_sym": {"work": "work"}, "targets": {"pids": ['"$RUNNER"']}, "max_overhead": "0.001%",
		"prometheus": {"listen": ":'"$PAGE_PORT"'"}'
	snoop
	ask spin
	eventually grep -q 'warning: work is no longer watched: .*max_overhead is 0.001%; it is tried again in 5 s' err
	eventually is_detached
	eventually page_says funcscope_function_detached 'function="work"' 1
	page_says funcscope_functions 'state="detached"' 1 || eventually page_says funcscope_functions 'state="detached"' 1
	ask stop
	eventually grep -q 'work is watched again' err
	eventually seven
	configure '"custom_sym": {"work": "work"}, "targets": {"pids": ['"$RUNNER"']}, "prometheus": {"listen": ":'"$PAGE_PORT"'"}'
	eventually reloaded 1
	page_says funcscope_function_detached 'function="work"' 0
	n=$(counted work)
	ask go 7
	ended
	assert_timed work $((n + 7))
}

@test "the budget: all that cost too much are detached at once, and what stays loses no call" {
	local i
	configure '"custom_sym": {"crowd_hot_0": "crowd_hot_0", "crowd_hot_1": "crowd_hot_1", "crowd_hot_2": "crowd_hot_2",
		"crowd_hot_3": "crowd_hot_3", "crowd_once_0": "crowd_once_0"}, "targets": {"names": ["crowd"]}, "max_overhead": "0.5%"'
	snoop
	"$FIXTURES/crowd" 8000000 >truth &
	for i in 0 1 2 3; do
		eventually grep -q "warning: crowd_hot_$i is no longer watched" err
	done
	wait $!
	eventually counted_is crowd_once_0 1
	refute_match "what is called once" "$(<err)" 'crowd_once_0 is no longer'
}

# ---- processes and libraries that come and go ----

# bats test_tags=guest,long
@test "a process that starts later is picked up by its name, its end is noticed" {
	cp "$FIXTURES/runner" target
	configure '"custom_sym": {"work": "work"}, "targets": {"names": ["targ?t"]}, "report": {"every": "0", "by_process": true}'
	snoop
	start_runner "$TMP/target"
	eventually watched work
	ask go 307
	ask fork 53
	eventually counted_is work 360
	eventually monitor_says processes 1
	stop_runner
	eventually monitor_says processes 0
	assert_eq "what it left" 360 "$(counted work)"
	start_runner "$TMP/target"
	eventually monitor_says processes 1
	ask go 11
	ended
	assert_eq "calls in all" 371 "$(calls type=latency function=work)"
	assert_eq "processes" 3 "$(values pid type=latency | sort -u | wc -l)"
}

@test "a process of another name is left alone" {
	cp "$FIXTURES/runner" target
	cp "$FIXTURES/runner" other
	start_runner "$TMP/other"
	configure '"custom_sym": {"work": {"symbol": "work", "library": "'"$TMP"'/*"}}, "targets": {"names": ["target"]}'
	snoop
	ask go 101
	ended
	assert_eq rows 0 "$(rows type=latency | wc -l)"
	assert_eq seen 0 "$(summary seen)"
}

@test "who runs already and is not meant counts nothing, and no errors" {
	"$FIXTURES/cudaapp-static" cudaMalloc=8000:2:1000 >/dev/null 3>&- &
	local busy=$!
	configure '"cuda_func_sym": {"cudaMalloc": "cudaMalloc"}, "libraries": {"cuda": "'"$FIXTURES/cudaapp-static"'"}'
	snoop_run -- "$FIXTURES/cudaapp-static" cudaMalloc=30:0:1000
	assert_timed cudaMalloc 30
	assert_eq errors '' "$(rows type=errors)"
	assert_eq kept 30 "$(summary kept)"
	configure '"cuda_func_sym": {"cudaMalloc": "cudaMalloc"}, "libraries": {"cuda": "'"$FIXTURES/cudaapp-static"'"},
		"targets": {"names": ["nobody"]}'
	snoop_run -d 1
	assert_eq rows '' "$(rows type=latency)$(rows type=errors)"
	assert_eq kept 0 "$(summary kept)"
	kill "$busy"
}

@test "a library that is loaded later, copies of it, and one that was there" {
	mkdir a b c
	for f in a b c; do cp "$FIXTURES/cuda/libcudart.so.13" "$f/libmine.so.1"; done
	start_runner "$FIXTURES/cudarunner"
	ask open "$TMP/c/libmine.so.1"
	configure '"mine_func_sym": {"cudaMalloc": "cudaMalloc"}, "targets": {"pids": ['"$RUNNER"']}'
	snoop
	watched cudaMalloc || fail "$(<answer)"
	ask go cudaMalloc 3 2
	ask open "$TMP/a/libmine.so.1"
	eventually watched cudaMalloc 2
	ask go cudaMalloc 20 2
	ask open "$TMP/b/libmine.so.1"
	eventually watched cudaMalloc 3
	ask go cudaMalloc 100 2
	ended
	assert_timed cudaMalloc 123
	assert_timed cudaMalloc 20 "binary=$TMP/a/libmine.so.1"
	assert_timed cudaMalloc 100 "binary=$TMP/b/libmine.so.1"
	assert_eq errors 123 "$(calls type=errors error=cudaErrorMemoryAllocation)"
}

@test "many short-lived processes: nothing is lost when they end" {
	local i
	cp "$FIXTURES/calls" mine
	configure '"custom_sym": {"work": {"symbol": "work", "library": "'"$TMP"'/mine"}}, "targets": {"names": ["mine"]},
		"keep": {"ended": "0"}'
	snoop
	for ((i = 0; i < 40; i++)); do "$TMP/mine" 53 3>&-; done
	eventually monitor_says processes 0
	ended
	assert_timed work 2120
}

@test "more processes at once than there is room for: what is lost is counted" {
	configure '"custom_sym": {"work": "work"}, "keep": {"rows": 4}'
	snoop_run -- "$FIXTURES/forks" 2003 19
	assert_eq seen 2003 "$(summary seen)"
	assert_eq "kept and lost" 2003 $(($(summary kept) + $(lost keys_full)))
}

# ---- requests ----

@test "ctl: add, list, stats, remove, status; what is wrong is said" {
	start_runner
	configure '"mine_func_sym": {"malloc": "mine_malloc"}, "targets": {"pids": ['"$RUNNER"']}'
	snoop
	ctl list
	assert_eq "not found yet" '{"type":"missing","group":"mine","function":"malloc","symbol":"mine_malloc"}' "$(<answer)"
	ctl add custom w work --slow 1ns
	assert_eq added '{"type":"added","function":"w","found":1}' "$(<answer)"
	watched w || fail "$(<answer)"
	assert_match "slow" "$(grep '"function":"w"' answer)" '"slow_ns":1,'
	ask go 101
	assert_eq counted 101 "$(counted w)"
	ctl stats --by-process --slow-calls
	assert_match "by process" "$(grep '"type":"latency"' answer)" "\"pid\":$RUNNER,"
	(($(grep -c '"slow":true' answer) <= 20)) || fail "slow calls: $(grep -c '"slow":true' answer)"
	ctl_error "group 'custom' already has a 'w'" add custom w work
	ctl_error "no function 'x' of group 'custom' is watched.*did you mean 'w'" remove custom x
	ctl_error "no function 'w' of group 'mine'" remove mine w
	ctl_error "slow takes a time.*not '5'" add custom y work --slow 5
	ctl_error "'lits' is not a request.*'list'" lits
	ctl_error 'GROUP NAME' add custom
	ctl_error 'no arguments' list all
	ctl remove custom w
	assert_eq removed '{"type":"removed","function":"w"}' "$(<answer)"
	ask go 50
	assert_eq "its numbers stay" 101 "$(counted w)"
	ctl add custom w work
	ask go 7
	assert_eq "and go on" 108 "$(counted w)"
	assert_eq "its process" "$FS" "$(monitor pid)"
	ended
	assert_timed w 108
}

@test "ctl: no monitor, a path that is none, one that does not exist" {
	ctl_error "cannot reach a monitor at '$TMP/sock'" status
	touch sock
	ctl_error "cannot reach a monitor" status
	fs_error 2 'ctl does not run a command' ctl status -- ls
	fs_error 2 'ctl takes a request' ctl
}

@test "ctl finds the only monitor by itself, and asks which where there are two" {
	local one
	not_in_guest
	fs ctl status
	((status != 0)) || skip "another monitor runs on this machine"
	printf '{"custom_sym": {"work": "work"}, "targets": {"names": ["no-such"]}}' >snoop.json
	snoop
	one=$FS
	fs_ok ctl status
	assert_eq "its process" "$one" "$(field pid "$(<out)")"
	arm_as snoop -c snoop.json -f json
	fs_error 1 'there are 2 monitors; choose one with --socket: .*snoop-[0-9]+.sock, .*snoop-[0-9]+.sock' ctl status
	fs_ok ctl status --socket "/run/funcscope/snoop-$one.sock"
	finish
	kill -INT "$one"
	wait "$one"
}

@test "the socket is its owner's alone; a socket left behind is replaced, one in use is not" {
	local public
	need_command setpriv
	public=$(mktemp -d)
	chmod 755 "$public"
	printf '{"control": "%s/sock", "custom_sym": {"work": "work"}, "targets": {"names": ["no-such"]}}\n' "$public" >snoop.json
	snoop
	as_nobody ctl --socket "$public/sock" status
	mv out out.nobody
	mv err err.nobody
	assert_eq "exit status" 1 "$status"
	assert_match "refused" "$(<err.nobody)" 'cannot reach a monitor.*[Pp]ermission denied'
	fs snoop -c snoop.json --ready-fd 1 -d 1
	assert_match "in use" "$(<err)" "cannot listen on.*another monitor may use it"
	((status != 0))
	kill -KILL "$FS"
	wait "$FS" || true
	snoop -d 0.1
	join
	[[ ! -e $public/sock ]] || fail "the socket is still there"
	rmdir "$public"
}

@test "the stream by TCP answers questions and refuses changes" {
	local port line
	not_in_guest
	need_command python3
	start_runner
	port=$(free_port)
	configure '"stream": "tcp:'"$port"'", "custom_sym": {"work": {"symbol": "work", "slow": "1ns"}}, "targets": {"pids": ['"$RUNNER"']}'
	snoop
	exec {tcp}<>"/dev/tcp/127.0.0.1/$port"
	echo '{"request": "add", "name": "x", "symbol": "x"}' >&"$tcp"
	read -r -t 10 line <&"$tcp"
	assert_match add "$line" '"type":"error","message":"add is not allowed over the network'
	echo '{"request": "reload"}' >&"$tcp"
	read -r -t 10 line <&"$tcp"
	assert_match reload "$line" '"type":"error"'
	echo 'what' >&"$tcp"
	read -r -t 10 line <&"$tcp"
	assert_match "no JSON" "$line" '"type":"error","message":"not JSON'
	echo '{"request": "subscribe", "types": ["slow"]}' >&"$tcp"
	read -r -t 10 line <&"$tcp"
	assert_eq subscribed '{"type":"subscribed"}' "$line"
	ask go 3
	read -r -t 10 line <&"$tcp"
	assert_match "an event" "$line" '"type":"call","slow":true.*"function":"work"'
	exec {tcp}>&-
	eventually monitor_says clients 1
	ended
	assert_timed work 3
}

# idle_clients PORT: 100 that say nothing; returns when 68 of them were turned away.
idle_clients() {
	local closed
	mkfifo held
	python3 - "$1" >held 3>&- 8>&- 9<&- <<-'PY' &
		import select, socket, sys, time
		clients = [socket.create_connection(("127.0.0.1", int(sys.argv[1]))) for _ in range(100)]
		closed = set()
		while len(closed) < 68:  # a client that is let in hears nothing
		    closed.update(select.select([s for s in clients if s not in closed], [], [])[0])
		print(len(closed), flush=True)
		time.sleep(600)
	PY
	PIDS+=("$!")
	read -r -t 60 closed <held
	assert_eq "turned away" 68 "$closed"
}

@test "idle clients of the stream, more than there are places: ctl is answered, and says how many were refused" {
	local port
	not_in_guest
	need_command python3
	port=$(free_port)
	configure '"stream": "tcp:'"$port"'", "custom_sym": {"work": "work"}, "targets": {"names": ["no-such"]}'
	snoop
	idle_clients "$port"
	assert_eq "of which the monitor knows" 68 "$(monitor refused)"
	ctl list
	kill "${PIDS[-1]}"
	eventually monitor_says clients 1
	ended
	assert_match "and says so at the end" "$(<err)" 'warning: 68 connections to the sockets were refused'
}

@test "a subscriber that does not read is told what it missed, and holds nobody up" {
	not_in_guest
	need_command python3
	start_runner
	configure '"sample": 1, "warnings": 0, "custom_sym": {"work": "work"}, "targets": {"pids": ['"$RUNNER"']}'
	snoop
	mkfifo go
	python3 - "$TMP/sock" go >lazy 3>&- 8>&- 9<&- <<-'PY' &
		import socket, sys
		s = socket.socket(socket.AF_UNIX)
		s.connect(sys.argv[1])
		s.sendall(b'{"request":"subscribe"}\n')
		print(s.recv(100).decode(), end="", flush=True)
		open(sys.argv[2]).read()
		text = b""
		while b'"dropped"' not in text:
		    got = s.recv(1 << 20)
		    if not got:
		        break
		    text = text[-100:] + got
		print([l for l in text.decode().splitlines() if '"dropped"' in l][0])
	PY
	PIDS+=("$!")
	eventually grep -q subscribed lazy
	ask go 20000
	eventually some_dropped
	assert_eq "counted all the same" 20000 "$(counted work)"
	: >go
	# it is told with the next event that fits
	eventually told_lazy
	ended
	assert_match "what it was told" "$(<lazy)" '\{"type":"dropped","count":[1-9][0-9]*\}'
}

some_dropped() {
	(($(monitor dropped) > 0))
}

told_lazy() {
	ask go 1
	grep -q dropped lazy
}

# ---- another configuration ----

# bats test_tags=once,deep
@test "reload under load, by signal, by change and by rename (RELOADS times): no call of what stays is missed" {
	local i n more='' targets
	cp "$FIXTURES/runner" target
	start_runner "$TMP/target"
	for targets in '"names": ["target"]' '"pids": ['"$RUNNER"']'; do
		configure '"custom_sym": {"work": "work"}, "targets": {'"$targets"'}'
		snoop
		ask total
		first=$ANSWER
		ask spin
		for ((i = 1; i <= ${RELOADS:-10}; i++)); do
			n=$(monitor reloads)
			if ((i % 2)); then more=', "repeat": "rep*"'; else more=; fi
			case $((i % 3)) in
			0) kill -HUP "$FS" ;;
			1) configure '"custom_sym": {"work": {"symbol": "work", "slow": "'"$i"'s"}'"$more"'}, "targets": {'"$targets"'}' ;;
			2) printf '{"control": "%s/sock", "report": {"every": "0"}, "custom_sym": {"work": "work"%s}, "targets": {%s}}' "$TMP" "$more" \
				"$targets" >snoop.json ;;
			esac
			eventually reloaded $((n + 1))
		done
		assert_eq "failed reloads" 0 "$(monitor failed_reloads)"
		assert_eq "the file is the one in force" true "$(monitor config_ok)"
		ask stop
		ended
		assert_timed work $((ANSWER - first))
	done
}

@test "reload: thresholds, functions and targets change; a function that left keeps its numbers" {
	cp "$FIXTURES/runner" target
	start_runner "$TMP/target"
	configure '"custom_sym": {"w": "work"}, "targets": {"names": ["target"]}'
	snoop
	ask go 101
	configure '"slow": "1ns", "custom_sym": {"again": "work"}, "targets": {"names": ["target"]}'
	eventually watched again
	ask go 53
	ended
	assert_timed w 101
	assert_timed again 53
}

@test "reload: a bad file leaves the old one in force and says where it is wrong" {
	start_runner
	configure '"custom_sym": {"work": "work"}, "targets": {"pids": ['"$RUNNER"']}'
	snoop
	ask go 7
	configure '"custom_sim": {"work": "work"}'
	eventually monitor_says failed_reloads 1
	assert_match "said" "$(<err)" 'warning: [^ ]*snoop.json:2:1: .*custom_sim.*custom_sym.*; the previous configuration stays in force'
	ask go 20
	kill -HUP "$FS"
	eventually monitor_says failed_reloads 2
	ctl_error 'snoop.json:2:1' reload
	assert_eq "said to be wrong" false "$(monitor config_ok)"
	rm snoop.json
	kill -HUP "$FS"
	eventually monitor_says failed_reloads 4
	ask go 100
	assert_eq "goes on" 127 "$(counted work)"
	configure '"custom_sym": {"work": "work"}, "targets": {"pids": ['"$RUNNER"']}'
	eventually monitor_says config_ok true
	ended
	assert_timed work 127
}

@test "reload: the page moves; a port that is taken leaves everything as it was" {
	local base
	not_in_guest
	need_command curl
	need_command python3
	start_runner
	PAGE_PORT=$(free_port)
	base='"custom_sym": {"work": "work"}, "targets": {"pids": ['"$RUNNER"']}'
	configure "$base"', "prometheus": {"listen": ":'"$PAGE_PORT"'"}'
	snoop
	ask go 11
	eventually page_says funcscope_call_duration_seconds_count 'function="work"' 11
	receiver taken ok
	configure "$base"', "prometheus": {"listen": ":'"$PORT"'"}'
	eventually monitor_says failed_reloads 1
	assert_match "said" "$(<err)" "warning: .*$PORT.*; the previous configuration stays in force"
	assert_eq "the page says so" 0 "$(on_page funcscope_config_ok)"
	assert_eq "and counts on" 11 "$(on_page funcscope_call_duration_seconds_count)"
	PAGE_PORT=$(free_port)
	configure "$base"', "prometheus": {"listen": ":'"$PAGE_PORT"'"}'
	eventually monitor_says config_ok true
	ask go 9
	eventually page_says funcscope_call_duration_seconds_count 'function="work"' 20
	assert_eq "reloads" 1 "$(on_page funcscope_config_reloads_total 'result="ok"')"
	ended
	assert_timed work 20
}

# no_process: a number that no process has.
no_process() {
	local n
	n=$(</proc/sys/kernel/pid_max)
	while [[ -e /proc/$((--n)) ]]; do :; done
	echo "$n"
}

@test "reload: a configuration that cannot be carried out leaves the old one in force, and its probes on" {
	local base='"slow": "1ns", "custom_sym": {"work": {"symbol": "work", "library": "'"$FIXTURES/runner"'"}}'
	start_runner
	configure "$base"', "targets": {"pids": ['"$RUNNER"']}'
	snoop
	ask go 7
	configure '"slow": "1s", "custom_sym": {"work": {"symbol": "work", "library": "'"$FIXTURES/runner"'"}, "more": {"symbol": "repeat",
		"library": "'"$FIXTURES/runner"'"}}, "targets": {"pids": ['"$(no_process)"']}'
	eventually monitor_says failed_reloads 1
	assert_match "said" "$(<err)" 'warning: .*; the previous configuration stays in force'
	assert_eq "said to be wrong" false "$(monitor config_ok)"
	watched work || fail "not watched any more: $(<answer)"
	assert_eq "the threshold of before" 1 "$(field slow_ns "$(grep '"function":"work"' answer)")"
	refute_match "functions of the other one" "$(<answer)" '"function":"more"'
	assert_eq "processes" 1 "$(monitor processes)"
	ask go 20
	counted_is work 27 || fail "$(<answer)"
	configure "$base"', "targets": {"pids": ['"$RUNNER"']}'
	eventually monitor_says config_ok true
	ask go 100
	ended
	assert_timed work 127
}

@test "reload: other processes are meant: numbers and calls of before stay, and none comes twice" {
	local base='"sample": 1, "custom_sym": {"work": {"symbol": "work", "library": "'"$FIXTURES/runner"'"}}'
	start_runner
	configure "$base"', "targets": {"pids": ['"$RUNNER"']}'
	snoop
	subscribe --type call
	# Records wait for 20 ms before they are told: these are in the session that ends.
	ask go 300
	configure "$base"', "targets": {"pids": ['"$RUNNER, $$"']}'
	eventually reloaded 1
	ask go 11
	eventually events_are return 311
	ended
	assert_timed work 311
	assert_eq entries 311 "$(events entry)"
	assert_eq returns 311 "$(events return)"
}

@test "reload: a thread's number is said to be one, and whose" {
	local tid
	start_runner
	ask workers 1
	tid=${ANSWER#tids }
	configure '"custom_sym": {"work": "work"}, "targets": {"pids": ['"$tid"']}'
	fs_error 1 "$tid.* is a thread of process $RUNNER; write $RUNNER" snoop -c snoop.json
	configure '"custom_sym": {"work": "work"}, "targets": {"pids": ['"$RUNNER"']}'
	snoop
	configure '"custom_sym": {"work": "work"}, "targets": {"pids": ['"$RUNNER, $tid"']}'
	eventually monitor_says failed_reloads 1
	assert_match "said" "$(<err)" "$tid.* is a thread of process $RUNNER"
	ask go 9
	ended
	assert_timed work 9
}

@test "ctl: a function that cannot be added leaves everything as it was" {
	start_runner
	configure '"custom_sym": {"work": "work"}, "targets": {"pids": ['"$RUNNER"']}'
	snoop
	ctl_error 'slow takes a time' add custom again repeat --slow soon
	ctl_error 'work' add custom work work
	ask go 5
	ctl list
	refute_match "what is asked for" "$(<answer)" 'again|"type":"missing"'
	ctl remove custom work
	! watched work || fail "watched still: $(<answer)"
	ask go 7
	ctl add custom work work
	ask go 11
	ended
	assert_timed work 16
}

@test "reload: a process that was asked for on the command line stays the only one" {
	start_runner
	configure '"custom_sym": {"work": {"symbol": "work", "library": "'"$FIXTURES/runner"'"}}'
	snoop -p "$RUNNER"
	ask go 5
	kill -HUP "$FS"
	eventually reloaded 1
	assert_eq processes 1 "$(monitor processes)"
	"$FIXTURES/runner" <<<'go 7' 3>&- 8>&- 9<&-
	ask go 20
	ended
	assert_timed work 25
}

@test "a monitor of presets has no file to read again" {
	start_runner
	arm_as snoop --preset nccl -f json -p "$RUNNER"
	kill -HUP "$FS"
	eventually grep -q 'without a configuration file' err
	finish
}

# ---- bad input ----

check_is_right() {
	assert_eq "exit status ($(<err))" 0 "$status"
	assert_match "said" "$(<out)" 'is valid: [0-9]+ functions?$'
}

@test "--check: every example is right, and nothing is done" {
	local f public
	for f in "$E2E_TOP"/examples/snoop/*.json "$E2E_TOP/tests/fixtures/snoop-seed.json"; do
		fs snoop --check "$f"
		check_is_right
	done
	# without any right to load a program, and without a trace of what the file asks for
	public=$(mktemp -d)
	chmod 777 "$public"
	printf '{"control": "%s/sock", "stream": "unix:%s/stream", "report": {"to": "%s/report"}, "spool": {"directory": "%s/spool"},
		"targets": {"command": ["touch", "%s/started"]}, "custom_sym": {"work": "work"}}' \
		"$public" "$public" "$public" "$public" "$public" >"$public/c.json"
	as_nobody snoop --check "$public/c.json"
	check_is_right
	assert_eq "files" c.json "$(ls "$public")"
	rm -r "$public"
}

@test "bad input: one sentence each" {
	local public
	fs_error 1 "missing.json'?.*[Nn]o such file" snoop -c missing.json
	fs_error 1 "missing.json'?.*[Nn]o such file" snoop --check missing.json
	mkfifo fifo
	status=0
	timeout 10 "$FUNCSCOPE" snoop -c fifo >out 2>err 3>&- </dev/null || status=$?
	check_error 1 'fifo.*(regular|not a) ?file' "snoop -c fifo"
	fs_error 1 'director' snoop -c .
	printf '{\n\t"cuda_func_sym": {"a": "b"},\n\t"repot": {}\n}\n' >c.json
	fs_error 1 "c.json:3:2: .*'?repot'?.*report" snoop -c c.json
	fs_error 1 "c.json:3:2: .*'?repot'?.*report" snoop --check c.json
	printf '{\n\t"slow": "1s",\n\t"slow": "2s"\n}\n' >c.json
	fs_error 1 'c.json:3:2: .*slow.*given twice' snoop -c c.json
	printf '{"slow": "5"}' >c.json
	fs_error 1 'c.json:1:[0-9]+: ' snoop -c c.json
	printf '{"slow": "5s"}' >c.json
	fs_error 1 'names no function to watch' snoop -c c.json
	: >c.json
	fs_error 1 'c.json' snoop -c c.json
	head -c 2000000 /dev/zero | tr '\0' ' ' >c.json
	fs_error 1 'larger than the limit of 1048576 bytes' snoop -c c.json
	fs_error 2 -- '-c FILE' snoop
	fs_error 2 -- '-c FILE' snoop work
	fs_error 2 "preset.*'?cudda'?.*cuda" snoop --preset cudda
	configure '"custom_sym": {"work": "work"}, "targets": {"names": ["no-such"]}'
	fs_error 2 'takes text or json, not .csv' snoop -c snoop.json -f csv
	configure '"custom_sym": {"work": "work"}, "targets": {"command": ["ls"]}'
	fs_error 2 'already names a command' snoop -c snoop.json -- ls
	configure '"custom_sym": {"work": "work"}'
	fs_error '1*' 'no-such-program.*No such file' snoop -c snoop.json -- "$TMP/no-such-program"
	configure '"custom_sym": {"work": "work"}, "targets": {"names": ["no-such"]}, "prometheus": {"listen": "192.0.2.1:9464"}'
	fs_error 1 '192.0.2.1:9464' snoop -c snoop.json -d 1
	public=$(mktemp -d)
	chmod 755 "$public"
	printf '{"custom_sym": {"work": "work"}, "targets": {"names": ["no-such"]}}' >"$public/c.json"
	as_nobody snoop --no-socket -c "$public/c.json" -d 1
	check_error 1 'CAP_|root|privilege|permitted' "snoop as nobody"
	rm -r "$public"
}

@test "names with control bytes reach neither the terminal nor break a line of JSON" {
	not_in_guest
	local f target=$'tar\e[31m\nget'
	cp "$FIXTURES/runner" "$target"
	start_runner "$TMP/$target"
	ask name $'ev\e]0;il\a'
	configure '"slow": "1ns", "sample": 1, "custom_sym": {"work": "work"}, "targets": {"pids": ['"$RUNNER"']},
		"report": {"every": "0", "by_process": true}'
	snoop
	subscribe
	ask go 20
	eventually events_are return 20
	ctl list
	cp answer list
	ctl stats --by-process --slow-calls
	ended
	assert_timed work 20
	for f in out err events list answer; do no_control_bytes "$f"; done
	for f in out events list answer; do assert_eq "JSON in $f" "$(wc -l <"$f")" "$(jq -c . "$f" | wc -l)"; done
	arm_as snoop -c snoop.json -f text
	ask go 20
	finish
	no_control_bytes out
	no_control_bytes err
}

@test "symbols with control bytes, as text and as JSON" {
	configure '"custom_sym": {"all": "ev*"}, "slow": "1ns"'
	snoop_run -- "$FIXTURES/ctlsym"
	(($(calls type=latency) > 0))
	no_control_bytes out
	no_control_bytes err
	fs_ok snoop -c snoop.json -f text -- "$FIXTURES/ctlsym"
	no_control_bytes out
	no_control_bytes err
}

# ---- harm ----

restored() {
	[[ $(memory_at "$RUNNER" "$ADDRESS") == "$ORIGINAL" ]]
}

# bats test_tags=once,deep
@test "SIGKILL of the monitor leaves the target running and no probe behind" {
	local i
	cp "$FIXTURES/runner" target
	start_runner "$TMP/target"
	ORIGINAL=$(memory_at "$RUNNER" "$ADDRESS")
	configure '"custom_sym": {"work": "work"}, "targets": {"names": ["target"]}'
	ask spin
	for ((i = 0; i < 3; i++)); do
		snoop
		! restored || fail "no probe is in the code: this test could not fail"
		kill -KILL "$FS"
		wait "$FS" || true
		eventually restored
	done
	ask stop
	ask go 7
	[[ $WORD == "done" ]]
}

@test "the probes are gone after the end" {
	start_runner
	ORIGINAL=$(memory_at "$RUNNER" "$ADDRESS")
	configure '"custom_sym": {"work": "work"}, "targets": {"pids": ['"$RUNNER"']}'
	snoop
	ask go 11
	! restored || fail "no probe is in the code: this test could not fail"
	ended
	eventually restored
	[[ ! -e sock ]] || fail "the socket is still there"
}

# ---- what is sent on ----

@test "Prometheus' page under load, in two formats; at its end it is exact" {
	local i
	not_in_guest
	need_command curl
	need_command python3
	start_runner
	PAGE_PORT=$(free_port)
	configure '"custom_sym": {"work": {"symbol": "work", "slow": "1us"}}, "targets": {"pids": ['"$RUNNER"']}, "warnings": 0,
		"labels": {"rack": "r1"}, "prometheus": {"listen": ":'"$PAGE_PORT"'"}'
	snoop
	ask spin
	for ((i = 0; i < 5; i++)); do
		page text/plain
		! command -v promtool >/dev/null || promtool check metrics <page >checked 2>&1 || fail "$(<checked)"
		page 'application/openmetrics-text; version=1.0.0'
		assert_eq "the end of the page" '# EOF' "$(tail -n 1 page)"
	done
	ask stop
	eventually page_says funcscope_call_duration_seconds_count 'function="work"' "$ANSWER"
	assert_match "labels" "$(grep '_count{' page)" 'group="custom",function="work",binary="[^"]*/runner",rack="r1"'
	assert_eq seen "$ANSWER" "$(on_page funcscope_calls_seen_total)"
	assert_eq kept "$ANSWER" "$(on_page funcscope_calls_kept_total)"
	assert_eq processes 1 "$(on_page funcscope_processes)"
	assert_eq "slow calls" "$(on_page funcscope_slow_calls_total)" "$(counted_slow work)"
	ended
	assert_timed work "$ANSWER"
}

# counted_slow FUNCTION
counted_slow() {
	ctl stats
	field slow "$(grep "\"function\":\"$1\"" answer)"
}

# sent_with OTLP ALERTMANAGER: receivers of these sorts while calls are made; counts must be exact. Leaves the last page.
sent_with() {
	# shellcheck disable=SC2034 # by their names below
	local otlp=$1 alerts=$2 name
	need_command curl
	need_command python3
	start_runner "$FIXTURES/cudaapp" ask
	PAGE_PORT=$(free_port)
	for name in otlp alerts; do
		if [[ ${!name} == refuse ]]; then PORT=$(free_port); else receiver "$name" "${!name}"; fi
		declare "${name}_port=$PORT"
	done
	# shellcheck disable=SC2154 # declared above
	configure '"slow": "1ms", "warnings": 0, "cuda_func_sym": {"cudaMalloc": "cudaMalloc"}, "targets": {"pids": ['"$RUNNER"']},
		"prometheus": {"listen": ":'"$PAGE_PORT"'"}, "spool": {"memory": "64kB"},
		"otlp": {"endpoint": "http://127.0.0.1:'"$otlp_port"'", "every": "1s", "timeout": "200ms"},
		"alertmanager": {"url": "http://127.0.0.1:'"$alerts_port"'", "every": "1s"}'
	snoop
	ask cudaMalloc=5:2:2000
}

# on with it, and the end: exact.
sent_end() {
	ask cudaMalloc=2000:0
	page_says funcscope_call_duration_seconds_count 'function="cudaMalloc"' 2005 || eventually page_says funcscope_call_duration_seconds_count 'function="cudaMalloc"' 2005
	cp page last_page
	ended
	assert_timed cudaMalloc 2005
	assert_eq "slow" true "$((($(values slow type=latency) >= 5)) && echo true)"
}

receiver_number() {
	on_page "funcscope_forward_$1" "receiver=\"$2\""
}

at_least() {
	(($(receiver_number "$1" "$2") >= $3))
}

@test "receivers that hang or answer garbage: nothing is held up, nothing is lost in the dark" {
	not_in_guest
	sent_with hang garbage
	eventually requests otlp 1
	eventually requests alerts 1
	eventually at_least retries_total otlp 1
	assert_eq "not up" 0 "$(receiver_number up otlp)"
	assert_eq "nothing sent" 0 "$(receiver_number sent_total otlp)"
	no_control_bytes err
	sent_end
	assert_eq "JSON" "$(wc -l <out)" "$(jq -c . out | wc -l)"
	assert_match "what was not sent is said" "$(<err)" 'otlp.*[1-9][0-9]*'
}

@test "a receiver that says 429, and one that nobody is at" {
	not_in_guest
	sent_with 429 refuse
	eventually requests otlp 2
	eventually at_least retries_total otlp 1
	eventually at_least retries_total alertmanager 1
	assert_eq "not up" 0 "$(receiver_number up alertmanager)"
	sent_end
}

@test "receivers that fail twice and then work: everything arrives" {
	not_in_guest
	sent_with 503 503
	eventually at_least sent_total otlp 1
	eventually at_least sent_total alertmanager 1
	eventually at_least up otlp 1
	sent_end
	assert_match "metrics" "$(<otlp.log)" '/v1/metrics [1-9][0-9]* 200'
	assert_match "slow calls" "$(<otlp.log)" '/v1/logs [1-9][0-9]* 200'
	assert_match "alerts" "$(<alerts.log)" '/api/v2/alerts [1-9][0-9]* 200'
	refute_match "dropped" "$(grep forward_dropped last_page)" '[1-9]$'
}

@test "a receiver that wants nothing: what it refused is counted" {
	not_in_guest
	sent_with 400 ok
	eventually at_least dropped_total otlp 1
	assert_match "why" "$(grep forward_dropped page)" 'receiver="otlp",reason="refused"} [1-9]'
	sent_end
}

# receivers_of OTLP_URL MORE: the configuration of the tests of a reload.
receivers_of() {
	configure '"slow": "1ms", "warnings": 0, "cuda_func_sym": {"cudaMalloc": "cudaMalloc"}, "targets": {"pids": ['"$RUNNER"']},
		"prometheus": {"listen": ":'"$PAGE_PORT"'"}, "spool": {"memory": "64kB", "directory": "'"$TMP/spool"'"}'"$1"
}

@test "reload: a receiver that moves gets what is queued in its spool; one that is removed is accounted for" {
	not_in_guest
	need_command curl
	need_command python3
	start_runner "$FIXTURES/cudaapp" ask
	PAGE_PORT=$(free_port)
	mkdir -m 700 spool
	receiver otlp ok
	receivers_of ', "otlp": {"endpoint": "http://127.0.0.1:'"$(free_port)"'", "every": "1s"},
		"alertmanager": {"url": "http://127.0.0.1:'"$(free_port)"'", "every": "1s"}'
	snoop
	ask cudaMalloc=5:2:2000
	eventually at_least queued otlp 2
	eventually at_least queued alertmanager 1
	receivers_of ', "otlp": {"endpoint": "http://127.0.0.1:'"$PORT"'", "every": "1s"}'
	eventually reloaded 1
	refute_match "its own spool" "$(<err)" 'in use by another process'
	eventually at_least sent_total otlp 3
	assert_eq "dropped" 0 "$(receiver_number dropped_total otlp)"
	assert_match "slow calls" "$(<otlp.log)" '/v1/logs [1-9][0-9]* 200'
	eventually grep -q 'alertmanager is no longer a receiver: of 1 waiting messages 0 were sent, 0 refused, 0 dropped, 1 left in the spool' err
	refute_match "up" "$(<page)" 'funcscope_forward_up{receiver="alertmanager"'
	# It is back: what was left goes to it.
	receiver alerts ok
	receivers_of ', "alertmanager": {"url": "http://127.0.0.1:'"$PORT"'", "every": "1s"}'
	eventually requests alerts 1
	eventually at_least sent_total alertmanager 1
	assert_eq "dropped" 0 "$(receiver_number dropped_total alertmanager)"
	assert_match "counters stay" "$(on_page funcscope_forward_sent_total 'receiver="otlp"')" '^[1-9]'
	ended
	assert_timed cudaMalloc 5
}

@test "reload: a receiver that was removed before it was sent anything keeps its counters" {
	not_in_guest
	need_command curl
	start_runner "$FIXTURES/cudaapp" ask
	PAGE_PORT=$(free_port)
	mkdir -m 700 spool
	receivers_of ', "alertmanager": {"url": "http://127.0.0.1:'"$(free_port)"'"}'
	snoop
	page text/plain
	assert_match "before" "$(<page)" 'funcscope_forward_sent_total\{receiver="alertmanager"\} 0'
	receivers_of ''
	eventually reloaded 1
	eventually grep -q 'alertmanager is no longer a receiver' err
	page text/plain
	assert_match "after" "$(<page)" 'funcscope_forward_sent_total\{receiver="alertmanager"\} 0'
	refute_match "up" "$(<page)" 'funcscope_forward_up'
	ended
}
