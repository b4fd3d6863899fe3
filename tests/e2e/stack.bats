# stack: the known call chains of the chains fixture, with frame pointers and without, of user functions, USDT probes, tracepoints and
# kernel functions. Formats, views and names are in stack_output.bats.
load common
load measure

setup_file() { "$FUNCSCOPE" doctor -f json >"$BATS_FILE_TMPDIR/doctor"; }
setup() { e2e_setup; }
teardown() { e2e_teardown; }

# bats test_tags=guest
@test "two ways to one function, on each rung" {
	for via in $(ways); do
		fs_stack --via "$via" -U "$FIXTURES/chains:chain_leaf" -- "$FIXTURES/chains" 30 12
		both_chains 30 12
		assert_eq function chain_leaf "$(values function type=stack | sort -u)"
		assert_eq kind uprobe "$(values kind type=stack | sort -u)"
	done
}

@test "kernel and user frames together: a user function has no kernel frames" {
	fs_stack "$FIXTURES/chains:chain_leaf" -- "$FIXTURES/chains" 5 3
	both_chains 5 3
}

@test "-K of a user function: nothing but the count" {
	fs_stack -K "$FIXTURES/chains:chain_leaf" -- "$FIXTURES/chains" 5 3
	assert_eq "seen" 8 "$(summary seen)"
	refute_match frames "$(<out)" chain_a
}

# bats test_tags=once
@test "--dwarf: a program without frame pointers" {
	fs_stack --dwarf -U "$FIXTURES/chains-nofp:chain_leaf" -- "$FIXTURES/chains-nofp" 30 12
	both_chains 30 12
}

@test "--dwarf: a program with frame pointers gives the same" {
	fs_stack --dwarf -U "$FIXTURES/chains:chain_leaf" -- "$FIXTURES/chains" 7 4
	both_chains 7 4
}

# bats test_tags=guest,deep
@test "--dwarf: short stacks are copied to their end, pages that nobody touched are left out, what lies further is said" {
	for n in 100 1500 4500 9000 12000; do
		fs_stack --dwarf -U "$FIXTURES/chains-nofp:chain_leaf" -- env -i "$FIXTURES/chains-nofp" wide $n
		assert_match "a frame of $n bytes" "$(rows type=stack)" '"chain_leaf","chain_wide","main",.*"_start"\]'
		assert_eq "cut off" 0 "$(summary truncated)"
	done
	fs_stack --dwarf -U "$FIXTURES/chains-nofp:chain_leaf" -- env -i "$FIXTURES/chains-nofp" wide 14000 1
	assert_match "a frame with holes" "$(rows type=stack)" '"chain_leaf","chain_wide","main",.*"_start"\]'
	fs_stack --dwarf -U "$FIXTURES/chains-nofp:chain_leaf" -- env -i "$FIXTURES/chains-nofp" wide 24000
	assert_match "a frame of 24000 bytes" "$(rows type=stack)" '"truncated":true,"frames":\["chain_leaf","chain_wide"\]'
	assert_eq "cut off" 1 "$(summary truncated)"
	fs_ok stack --dwarf -U "$FIXTURES/chains-nofp:chain_leaf" -- env -i "$FIXTURES/chains-nofp" wide 24000
	assert_match "in words" "$(<out)" '; stacks cut off 1'
}

@test "--dwarf: thousands of hits in a moment are kept" {
	fs_stack --dwarf -U "$FIXTURES/chains-nofp:chain_leaf" -- "$FIXTURES/chains-nofp" 3000 0
	assert_eq stacks 3000 "$(stacks "$LONG")"
	assert_eq "ring_full" 0 "$(lost ring_full)"
}

# bats test_tags=guest
@test "--dwarf: a stack that is known is not copied again" {
	need_btf_of_tasks
	start_runner "$FIXTURES/runner"
	arm_as stack -v -f json -i 0.1 --dwarf -p "$RUNNER" -U "$FIXTURES/runner:work"
	ask go 1
	# once it was reported it was unwound, and the kernel has the rules
	until grep -q '"type":"stack"' out; do kill -0 "$FS" || fail "it ended: $(<err)"; done
	ask go 2
	ask go 5000
	finish
	assert_eq "seen" 5003 "$(summary seen)"
	assert_eq "kept" 5003 "$(summary kept)"
	assert_eq "with names" 5003 "$(calls type=stack)"
	assert_eq leaf work "$(frames_of "$(rows type=stack | tail -n 1)" | cut -d, -f1)"
	[[ $(<err) =~ debug:\ ([0-9]+)\ copies ]] || fail "no number of copies: $(<err)"
	((BASH_REMATCH[1] < 100)) || fail "${BASH_REMATCH[0]} for 5003 hits of a few stacks"
}

# bats test_tags=guest
@test "--dwarf: a process that soon runs exec keeps its stack, and its names" {
	for i in 1 2 3; do
		fs_stack --dwarf -P -U "$FIXTURES/chains-nofp:chain_leaf" -- "$FIXTURES/chains-nofp" exec "$FIXTURES/chains-nofp" exec true
		assert_eq "stacks, round $i" 2 "$(stacks "$LONG")"
	done
	fs_stack --dwarf -U "$FIXTURES/chains-nofp:chain_leaf" "$FIXTURES/chains:chain_leaf" -- \
		"$FIXTURES/chains" exec "$FIXTURES/chains-nofp" exec "$FIXTURES/chains" exec true
	assert_eq "three programs of one process" 3 "$(stacks "$LONG")"
	assert_eq "cut off" 0 "$(summary truncated)"
}

@test "--dwarf --weight time: as with frame pointers" {
	fs_stack --dwarf -U --weight time "$FIXTURES/chains-nofp:chain_leaf" -- "$FIXTURES/chains-nofp" 15 8 400
	both_chains 15 8
	total=0
	while read -r line; do total=$((total + $(field time_ns "$line"))); done < <(rows type=stack)
	((total >= $(truth low_total_ns chain_c) + $(truth low_total_ns chain_x))) || fail "only $total ns: $(<out)"
}

@test "--sample: one hit in N, counts are scaled, and it is said that they are estimates" {
	measure stack --sample 10 -U "$FIXTURES/chains:chain_leaf" -- "$FIXTURES/chains" 3000 1000
	assert_eq "looked at" 400 "$(summary seen)"
	assert_eq "left out" 3600 "$(summary sampled_out)"
	assert_eq "estimate over chain_a" 3000 "$(stacks "$LONG")"
	assert_eq "estimate over chain_x" 1000 "$(stacks "$SHORT")"
	assert_eq "each says so" 10 "$(values one_in type=stack | sort -u)"
	assert_match "in words" "$(<err)" 'one hit in 10 was looked at.*off by about the root of 10 \* C'
	measure stack --sample 7 --dwarf -U "$FIXTURES/chains-nofp:chain_leaf" -- "$FIXTURES/chains-nofp" 700 0
	assert_eq "copies, too" 700 "$(stacks "$LONG")"
	fs_stack -U "$FIXTURES/chains:chain_leaf" -- "$FIXTURES/chains" 3 1
	refute_match "without" "$(<out)" one_in
}

@test "what is lost is said on stderr where the books are in a file" {
	for format in folded flamegraph; do
		fs_ok stack -U --max-stacks 1 -f $format -o data "$FIXTURES/chains:chain_leaf" -- \
			sh -c "'$FIXTURES/chains' 30 12; '$FIXTURES/chains' 5 0"
		assert_match "$format" "$(<err)" 'warning: [0-9]+ of 47 hits are not in the output: stack_collided'
	done
}

@test "inlined functions have frames of their own" {
	fs_stack -U "$FIXTURES/chains:chain_leaf" -- "$FIXTURES/chains" 0 6
	assert_eq "stacks" 6 "$(stacks 'chain_leaf,chain_inlined[^,]*,chain_x,main')"
}

@test "a running process" {
	start_runner
	arm_as stack -f json -p "$RUNNER" -U "$FIXTURES/runner:work"
	ask go 21
	ask fork 5
	finish
	closed stack
	assert_eq stacks 21 "$(calls type=stack)"
	assert_eq leaf work "$(frames_of "$(rows type=stack | head -n 1)" | cut -d, -f1)"
}

@test "threads: stacks are merged, none is lost" {
	fs_stack -U "$FIXTURES/threads:work" -- "$FIXTURES/threads" 4003 8
	assert_eq calls 4003 "$(stacks 'work,thread')"
}

@test "--weight time: what the fixture measured on each way" {
	fs_stack -U --weight time "$FIXTURES/chains:chain_leaf" -- "$FIXTURES/chains" 15 8 400
	both_chains 15 8
	while read -r line; do
		way=chain_c
		[[ $(frames_of "$line") == *chain_c* ]] || way=chain_x
		# the cost of the probes is in neither measurement nor known here: a hit's cost is in the summary
		slack=$(($(field count "$line") * ($(field ns_per_hit "$(last_line)" | cut -d. -f1) * 2 + 1000)))
		within "$way" "$(truth low_total_ns $way)" "$(field time_ns "$line")" "$(truth high_total_ns $way)" "$slack"
	done < <(rows type=stack)
}

@test "--depth: so many frames, and not one more" {
	fs_stack -U --depth 3 "$FIXTURES/chains:chain_leaf" -- "$FIXTURES/chains" 4 2
	assert_eq calls 6 "$(calls type=stack)"
	while read -r line; do
		frames=$(frames_of "$line")
		assert_eq "frames of $line" 3 "$(tr ',' '\n' <<<"$frames" | grep -vc chain_inlined)"
	done < <(rows type=stack)
}

@test "USDT probes and their stacks" {
	fs_stack -U "u:$FIXTURES/usdt:twin" -- "$FIXTURES/usdt" loose
	assert_eq one 101 "$(stacks hit_twin_one)"
	assert_eq two 103 "$(stacks hit_twin_two)"
}

@test "returns" {
	fs_stack -U "r:$FIXTURES/chains:chain_leaf" -- "$FIXTURES/chains" 6 2
	assert_eq calls 8 "$(calls type=stack)"
}

# bats test_tags=once
@test "a tracepoint's kernel and user stack" {
	need_tracepoints
	fs_stack t:syscalls:sys_enter_getppid -- "$FIXTURES/syscalls" 31
	assert_eq calls 31 "$(calls type=stack)"
	assert_match frames "$(rows type=stack)" '"syscall"'
	# the C library has no frame pointers: its callers are found by unwinding
	fs_stack --dwarf -U t:syscalls:sys_enter_getppid -- "$FIXTURES/syscalls" 31
	assert_eq stacks 31 "$(stacks 'syscall,main')"
	fs_stack -K t:sched:sched_switch -- "$FIXTURES/timed" sleep 2000 10
	assert_match frames "$(rows type=stack)" 'schedule'
}

# bats test_tags=guest,deep
@test "a kernel function: its way from the system call, and the user's below" {
	need_kernel_functions
	for via in $(kernel_ways); do
		fs_stack --via "$via" do_nanosleep -- "$FIXTURES/chains" 6 2 100
		assert_eq calls 8 "$(stacks 'do_nanosleep,.*sys_clock_nanosleep.*')"
		# the C library's own frame has no frame pointer, so its caller is passed over
		assert_match user "$(rows type=stack)" '"chain_b"'
	done
	fs_stack -K do_nanosleep -- "$FIXTURES/chains" 6 2 100
	refute_match "no user frames" "$(rows type=stack)" 'chain_b'
	fs_stack -U do_nanosleep -- "$FIXTURES/chains" 6 2 100
	refute_match "no kernel frames" "$(rows type=stack)" '\["do_nanosleep'
	fs_ok stack -f folded -o data do_nanosleep -- "$FIXTURES/chains" 6 2 100
	assert_match marked "$(<data)" 'do_nanosleep_\[k\] '
}
