# Compares what gpu told with what the fixture says it did (tests/fixtures/gpu/gpuapp.c lists the members of its truth). Prints
# what differs, nothing where all is right. In jq, because guests have no Python.
#
#   jq -rn --slurpfile events OUT --slurpfile truth TRUTH --argjson want '{"comm":"gpuapp13"}' -f gpu_truth.jq
#
# OUT is of one run of gpu -f json, TRUTH has a line for each process. want has what the fixture cannot know:
#
#   comm    of all events, as the kernel has it
#   args    true: --args was given       errors  true: --launch-errors was given
#   via     false: calls of the runtime are not seen (it is linked in)
#   threads how many threads did it (1)  device  the number of the GPU (0)

def differs($what; $want; $got):
	if $want == $got then empty else "\($what): expected \($want | tojson), got \($got | tojson)" end;
def tally(f): map(f) | group_by(.) | map({key: .[0], value: length}) | from_entries;
def sums(f): group_by(f) | map({key: (.[0] | f), value: {n: length, bytes: (map(.bytes) | add)}}) | from_entries;
def nonzero: with_entries(select(.value != 0));

# The calls of the driver that are events.
def counted: with_entries(select(.key | test("^cu(Launch|GraphLaunch|MemAlloc|MemFree|MemCreate|MemRelease|" +
	"MemHost(Alloc|Register|Unregister)|Memcpy|Memset|[A-Z][a-z]+Synchronize)")));
def no_launches: with_entries(select(.key | test("^cu(Graph)?Launch") | not));

# ---- launches ----

def names: {
	"_Z9vectorAddiPfc": "vectorAdd(int, float*, char)",
	"_Z11scaleKernelIfEviPT_c": "void scaleKernel<float>(int, float*, char)",
	"_ZN3app6reduceEiPfc": "app::reduce(int, float*, char)",
	"_ZN3app4stepEiPfc": "app::step(int, float*, char)",
	"_ZN8cublasLt19splitKreduce_kernelILi32EfEEvPKT0_PS1_i":
		"void cublasLt::splitKreduce_kernel<32, float>(float const*, float*, int)",
	"_Z13sgemm_128x128ILi8EEviPKfPf": "void sgemm_128x128<8>(int, float const*, float*)",
	"_ZN7cutlass7Kernel2I54cutlass_80_tensorop_f16_s16816gemm_f16_64x64_nn_align8EEvNT_6ParamsE":
		("void cutlass::Kernel2<cutlass_80_tensorop_f16_s16816gemm_f16_64x64_nn_align8>" +
		"(cutlass_80_tensorop_f16_s16816gemm_f16_64x64_nn_align8::Params)"),
	"_Z39ncclDevKernel_AllReduce_Sum_f32_RING_LL24ncclDevKernelArgsStorageILm4096EE":
		"ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
};
def demangled: if length == 1500 then .[6:-4] + "(int, float*, char)" else names[.] // . end;

# By word: the call of the driver, and of the runtime around it.
def calls: {
	"launch": ["cuLaunchKernel", "cudaLaunchKernel"], "long": ["cuLaunchKernel", "cudaLaunchKernel"],
	"graph": ["cuLaunchKernel", "cudaLaunchKernel"], "launchex": ["cuLaunchKernelEx", "cudaLaunchKernelExC"],
	"coop": ["cuLaunchCooperativeKernel", "cudaLaunchCooperativeKernel"],
	"driver": ["cuLaunchKernel", null], "driverex": ["cuLaunchKernelEx", null]
};

# What the libraries launch: by symbol.
def libraries($streams): {
	"_ZN7cutlass7Kernel2I54cutlass_80_tensorop_f16_s16816gemm_f16_64x64_nn_align8EEvNT_6ParamsE":
		["cuLaunchKernelEx", ["cublasGemmEx"], "libcublas.so.13", [8, 4, 1], [128, 1, 1], 49152, "0x0"],
	"_Z13sgemm_128x128ILi8EEviPKfPf":
		["cuLaunchKernel", ["cublasSgemm_v2"], "libcublas.so.13", [8, 4, 1], [256, 1, 1], 16384, "0x0"],
	"_ZN8cublasLt19splitKreduce_kernelILi32EfEEvPKT0_PS1_i":
		["cuLaunchKernel", ["cublasGemmEx", "cublasSgemm_v2"], "libcublas.so.13", [8, 1, 1], [32, 16, 1], 0, "0x0"],
	"_Z39ncclDevKernel_AllReduce_Sum_f32_RING_LL24ncclDevKernelArgsStorageILm4096EE":
		["cuLaunchKernelEx", ["ncclAllReduce"], "libnccl.so.2", [24, 1, 1], [544, 1, 1], 82240, $streams[1]]
};

# Of int, float * and char the low bytes are theirs; more arguments than there are may have been read.
def low($digits): ltrimstr("0x") | ("0" * 16 + .)[-$digits:];
def arguments: if . == null then null else [(.[0] | low(8)), (.[1] | low(16)), (.[2] | low(2))] end;

def one_launch($l; $e; $t):
	differs("\($l.word): kernel"; $l.symbol | demangled; $e.kernel),
	differs("\($l.word): grid"; $l.grid; $e.grid),
	differs("\($l.word): block"; $l.block; $e.block),
	differs("\($l.word): shared"; $l.shared; $e.shared),
	differs("\($l.word): kind"; if $e.api | startswith("cuLaunchCoop") then "cooperative" else "kernel" end; $e.kind),
	differs("\($l.word): captured"; $l.word == "graph"; $e.captured),
	if $l.stream then differs("\($l.word): stream"; $l.stream; $e.stream) else empty end,
	if $t.words.ptsz and $l.word == "driver" then empty else differs("\($l.word): api"; calls[$l.word][0]; $e.api) end,
	if $want.errors and $want.via != false then differs("\($l.word): via"; calls[$l.word][1]; $e.via) else empty end,
	if $want.args then differs("\($l.word): args"; $l.args | arguments; $e.args | arguments)
	else differs("\($l.word): args"; null; $e.args) end;

def one_of_library($x; $e):
	differs("\($e.symbol): api, owner, dimensions, shared, stream"; $x[:1] + $x[2:];
		[$e.api, $e.owner, $e.grid, $e.block, $e.shared, $e.stream]),
	if $x[1] | index($e.library) then empty else "\($e.symbol): library is \($e.library)" end,
	differs("\($e.symbol): kernel"; $e.symbol | demangled; $e.kernel);

def one_graph($t; $e):
	differs("graph: call and stream"; ["cuGraphLaunch", $t.streams[0], false]; [$e.api, $e.stream, $e.captured]);

def compare_launches($t; $e):
	(libraries($t.streams)) as $libraries |
	($e | map(select(.type == "gpu_launch"))) as $launches |
	differs("launches by kind"; $t.launches | nonzero; $launches | tally(.kind)),
	differs("launches by kernel"; $t.kernels; $launches | map(select(.kind != "graph")) | tally(.symbol)),
	differs("captured"; $t.captured; $launches | map(select(.captured)) | length),
	differs("kernels of graphs"; $t.graph_kernels; $launches | map(.graph_kernels // 0) | add // 0),
	(($t.launched // [])[] as $l | $launches[] | select(.symbol == $l.symbol) | one_launch($l; .; $t)),
	($launches[] | select($libraries[.symbol // ""]) | one_of_library($libraries[.symbol]; .)),
	($launches[] | select(.kind == "graph") | one_graph($t; .));

# ---- memory, copies, the rest ----

def compare_memory($t; $e):
	differs("allocations"; $t.allocs; $e | map(select(.type == "gpu_alloc")) | sums(.kind)),
	differs("frees"; $t.frees; $e | map(select(.type == "gpu_free")) | sums(.kind)),
	differs("frees of what is not known"; [false, 0]; [($e | any(.type == "gpu_free" and (.known | not))),
		($events | map(select(.type == "gpu_process" and .pid == $t.pid) | .unknown_frees) | add // 0)]),
	differs("live"; $t.live; $events | map(select(.type == "gpu_memory" and .pid == $t.pid and .live > 0)) |
		group_by(.kind) | map({key: .[0].kind, value: {n: (map(.live) | add), bytes: (map(.live_bytes) | add)}}) |
		from_entries),
	if ($want.threads // 1) > 1 then empty
	else differs("peak"; $t.peak_bytes; $events | map(select(.type == "gpu_process" and .pid == $t.pid) | .peak_bytes) |
		add // 0) end;

def compare_copies($t; $e):
	($e | map(select(.type == "gpu_copy"))) as $copies |
	($e | map(select(.type == "gpu_memset"))) as $memsets |
	differs("copies"; $t.copies; $copies | map(select(.async | not)) | sums(.direction)),
	differs("asynchronous copies"; $t.async_copies; $copies | map(select(.async)) | sums(.direction)),
	differs("copies that took a time"; []; $copies | map(select(.async | not) | select(.timing != "complete"))),
	differs("memsets"; $t.memsets; {n: ($memsets | length), bytes: ($memsets | map(.bytes) | add // 0)}),
	differs("synchronisations"; $t.syncs; $e | map(select(.type == "gpu_sync")) | length);

# The forms with a stream for each thread are told by the name of the others.
def plain: to_entries | map(.key |= sub("_pt[ds][sz]$"; "")) | group_by(.key) |
	map({key: .[0].key, value: (map(.value) | add)}) | from_entries;

# A call of the driver is one event, whatever layers it came through. Frees of nothing are none.
def compare_calls($t; $e):
	differs("calls of the driver"; $t.driver | .cuMemFree_v2 = (.cuMemFree_v2 // 0) - ($t.words.nullfree // 0) | plain | counted | nonzero;
		$e | tally(.api) | counted),
	differs("failed calls of the driver"; $t.driver_failed | if $want.errors then . else no_launches end | plain | counted;
		$e | map(select(.type == "gpu_error")) | tally(.api) | counted);

def compare_events($t; $e):
	differs("names of the process"; [$want.comm]; $e | map(.comm) | unique),
	differs("threads"; $want.threads // 1; $e | map(.tid) | unique - (if $want.threads then [$t.pid] else [] end) | length),
	differs("parents"; 1; $e | map(.ppid) | unique | length),
	differs("device"; [$want.device // 0]; $e | map(.device) | unique),
	differs("results"; []; $e | map(select(((.ret // 0) != 0) != (.type == "gpu_error")))),
	differs("events without a time or an owner"; []; $e | map(select(.time_ns <= 0 or .owner == null)));

def compare($t):
	($events | map(select(.api and .pid == $t.pid and (.type | test("^gpu_(launch|alloc|free|copy|memset|sync|error)$"))))) as $e |
	compare_launches($t; $e), compare_memory($t; $e), compare_copies($t; $e), compare_calls($t; $e), compare_events($t; $e);

$truth | map(select(.type == "truth")) |
	if length == 0 then "the fixture said nothing" else .[] as $t | "process \($t.pid): \(compare($t))" end
