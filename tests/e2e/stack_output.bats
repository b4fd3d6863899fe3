# stack: formats, views, weights, names, losses.
load common
load measure

setup_file() { "$FUNCSCOPE" doctor -f json >"$BATS_FILE_TMPDIR/doctor"; }
setup() { e2e_setup; }
teardown() { e2e_teardown; }

@test "-P: by process" {
	not_in_guest
	fs_stack -P -U "$FIXTURES/forks:work" -- "$FIXTURES/forks" 803 7
	assert_eq processes 8 "$(distinct pid)"
	assert_eq comm forks "$(values comm type=stack | sort -u)"
	fs_stack -U "$FIXTURES/forks:work" -- "$FIXTURES/forks" 803 7
	refute_match row "$(rows type=stack)" '"pid"'
	assert_eq calls 803 "$(calls type=stack)"
}

@test "--offsets" {
	fs_stack -U --offsets "$FIXTURES/chains:chain_leaf" -- "$FIXTURES/chains" 3 0
	assert_match frames "$(rows type=stack)" '"chain_c\+0x[0-9a-f]+ \(chains.c:[0-9]+\)"'
}

@test "a stack deeper than any limit is cut, counted, and no harm" {
	fs_stack -U "$FIXTURES/chains:chain_leaf" -- "$FIXTURES/chains" deep 300
	assert_eq calls 1 "$(calls type=stack)"
	assert_match frames "$(frames_of "$(rows type=stack)")" '^chain_leaf,(chain_dive,){50}'
}

@test "--max-stacks: what finds no room, and none among those with the same hash, is lost by name" {
	local run="$FIXTURES/chains"
	fs_stack -U --max-stacks 1 "$FIXTURES/chains:chain_leaf" -- sh -c "'$run' 30 0; '$run' 12 0; '$run' 5 0"
	assert_eq seen 47 "$(summary seen)"
	assert_eq kept 42 "$(stacks "$LONG")"
	assert_eq collided 5 "$(lost stack_collided)"
}

# Every process has addresses of its own, so that 400 stacks in 4096 places would lose about 20.
@test "stacks with the same hash are kept apart" {
	local run="$FIXTURES/chains"
	fs_stack -U --max-stacks 4096 "$FIXTURES/chains:chain_leaf" -- sh -c "i=0; while [ \$i -lt 400 ]; do '$run' 1 0; i=\$((i + 1)); done"
	assert_eq seen 400 "$(summary seen)"
	(($(lost stack_collided) <= 5)) || fail "$(lost stack_collided) stacks lost"
}

@test "text: one blank line between stacks, and before the books" {
	for view in list top-down; do
		fs_ok stack -U --view $view "$FIXTURES/chains:chain_leaf" -- "$FIXTURES/chains" 3 2
		refute_match "$view" "$(<out)" $'\n\n\n'
		assert_match "$view" "$(<out)" $'[^\n]\n\nseen 5 = kept 5'
	done
}

@test "-n: the heaviest" {
	measure stack -n 1 -U "$FIXTURES/chains:chain_leaf" -- "$FIXTURES/chains" 30 12
	assert_eq rows 1 "$(rows type=stack | wc -l)"
	assert_eq heaviest 30 "$(stacks "$LONG")"
}

@test "C++ names are demangled" {
	fs_stack -U "$FIXTURES/cxx:shop::open_door" -- "$FIXTURES/cxx"
	assert_eq calls 13 "$(stacks 'shop::open_door[^,]*,main')"
}

@test "intervals: together they are the whole" {
	not_in_guest
	fs_stack -i 0.05 -U "$FIXTURES/chains:chain_leaf" -- "$FIXTURES/chains" 60 40 1000
	both_chains 60 40
}

@test "text: the leaf first, then the count" {
	fs_ok stack -U -o data "$FIXTURES/chains:chain_leaf" -- "$FIXTURES/chains" 30 12
	assert_match frames "$(<data)" $'chain_leaf[^\n]*\n +chain_c[^\n]*\n +chain_b[^\n]*\n +chain_a[^\n]*\n +main'
	assert_match count "$(<data)" $'\n +30\n'
	assert_match books "$(<data)" 'seen 42 = kept 42'
	no_control_bytes data
}

@test "trees: top-down and bottom-up" {
	fs_ok stack -U --view top-down -o data "$FIXTURES/chains:chain_leaf" -- "$FIXTURES/chains" 30 10
	assert_match order "$(<data)" $'main.*\n(.*\n)*.*chain_a.*\n.*chain_b.*\n.*chain_c.*\n.*chain_leaf'
	assert_match share "$(<data)" '75(\.0+)? ?%'
	fs_ok stack -U --view bottom-up -o data "$FIXTURES/chains:chain_leaf" -- "$FIXTURES/chains" 30 10
	assert_match order "$(<data)" $'chain_leaf.*\n(.*\n)*.*chain_c.*\n.*chain_b.*\n.*chain_a'
	assert_match share "$(<data)" '25(\.0+)? ?%'
}

@test "folded: the root first, the count last" {
	fs_ok stack -U -f folded -o data "$FIXTURES/chains:chain_leaf" -- "$FIXTURES/chains" 30 12
	assert_match long "$(<data)" $'(^|\n)([^\n]*;)?main;chain_a;chain_b;chain_c;chain_leaf 30(\n|$)'
	assert_match short "$(<data)" $'main;chain_x;(chain_inlined_\\[i\\];)?chain_leaf 12(\n|$)'
	assert_eq lines 2 "$(wc -l <data)"
	assert_match books "$(<err)" 'seen 42 = kept 42'
}

@test "folded: kernel frames are marked" {
	need_tracepoints
	fs_ok stack -f folded -o data t:syscalls:sys_enter_getppid -- "$FIXTURES/syscalls" 31
	assert_match user "$(<data)" '^syscall;'
	while read -r line; do
		assert_match line "$line" ' [0-9]+$'
	done <data
}

@test "flamegraph: one file, valid, complete" {
	fs_ok stack -U -f flamegraph -o data.svg "$FIXTURES/chains:chain_leaf" -- "$FIXTURES/chains" 30 12
	assert_match beginning "$(head -c 300 data.svg)" '<svg'
	for function in main chain_a chain_b chain_c chain_x chain_leaf; do
		grep -q "$function" data.svg || fail "no $function"
	done
	grep -q '<script' data.svg || fail "not interactive"
	assert_match books "$(<data.svg)" 'seen 42 = kept 42'
	! grep -E '(href|src)="(https?:)?//' data.svg || fail "it needs the network"
	no_control_bytes data.svg
	valid_xml data.svg
}

@test "flamegraph and folded: names that hurt" {
	not_in_guest
	fs_ok stack -U -P -f flamegraph -o data.svg "$FIXTURES/comms:work" -- "$FIXTURES/comms"
	no_control_bytes data.svg
	valid_xml data.svg
	fs_ok stack -U -P -f folded -o data "$FIXTURES/comms:work" -- "$FIXTURES/comms"
	no_control_bytes data
	assert_eq calls 622 "$(awk '{ n += $NF } END { print n }' data)"
	fs_ok stack -U -f flamegraph -o data.svg "$FIXTURES/ctlsym:*" -- "$FIXTURES/ctlsym"
	no_control_bytes data.svg
	valid_xml data.svg
}

valid_xml() {
	if command -v xmllint >/dev/null; then
		xmllint --noout "$1"
	elif command -v python3 >/dev/null; then
		python3 -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])' "$1"
	fi
}

@test "CSV: a header, and as many columns in each line" {
	fs_ok stack -U -f csv -o data "$FIXTURES/chains:chain_leaf" -- "$FIXTURES/chains" 30 12
	assert_match header "$(head -n 1 data)" 'kind,binary,function,.*count'
	assert_eq lines 3 "$(wc -l <data)"
	assert_match books "$(<err)" 'seen 42 = kept 42'
}

@test "formats without a place for it are usage errors" {
	fs_error 2 "folded" count -f folded "$FIXTURES/calls:work" -- "$FIXTURES/calls" 1
	fs_error 2 "flamegraph" time -f flamegraph "$FIXTURES/calls:work" -- "$FIXTURES/calls" 1
}

@test "options that make no sense are usage errors" {
	fs_error 2 "weight" stack --weight gold "$FIXTURES/calls:work" -d 0.1
	fs_error 2 "view" stack --view sideways "$FIXTURES/calls:work" -d 0.1
	fs_error 2 "depth" stack --depth 0 "$FIXTURES/calls:work" -d 0.1
	fs_error 2 "return" stack --weight time t:syscalls:sys_enter_read -d 0.1
}
