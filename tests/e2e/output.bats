# What is printed, where, and how: text, JSON, CSV, intervals, order, losses, names that hold control bytes.
load common

setup() { e2e_setup; }
teardown() { e2e_teardown; }

@test "text: a table and the books, nothing on stderr" {
	fs_ok count "$FIXTURES/calls:*work" -- "$FIXTURES/calls" 1009 23
	assert_eq header 'FUNCTION    CALLS' "$(sed -n 1p out)"
	assert_eq first 'work         1009' "$(sed -n 2p out)"
	assert_eq second 'local_work     23' "$(sed -n 3p out)"
	assert_match books "$(<out)" 'seen 1032 = kept 1032'
	assert_match attached "$(<out)" '2 functions: 2 attached by uprobe'
	assert_match refused "$(<out)" ' 0 refused'
	assert_match cost "$(<out)" $'\ncost: [0-9.]+ (ns|us|ms) per hit'
	assert_match share "$(<out)" "% of the target's CPU time"
	assert_eq stderr '' "$(<err)"
}

@test "text: 80 columns are enough for what people count" {
	fs_ok count --by comm,pid,tid,cpu "$FIXTURES/calls:*work" -- "$FIXTURES/calls" 101
	longest=$(awk '{ if (length($0) > n) n = length($0) } END { print n }' out)
	((longest <= 80)) || fail "a line of $longest columns: $(<out)"
}

@test "text: functions of two files are told apart" {
	fs_ok count "$FIXTURES/calls:work" "$FIXTURES/runner:work" --zeros -- "$FIXTURES/calls" 101
	assert_match calls "$(<out)" 'calls:work +101'
	assert_match runner "$(<out)" 'runner:work +0'
}

@test "JSON: the keys that scripts may rely on" {
	fs_json --by comm,pid,tid,cpu "$FIXTURES/calls:work" -- "$FIXTURES/calls" 101
	jq -e -s '.[0] | .type == "count" and .kind == "uprobe" and (.binary | startswith("/")) and .function == "work" and
		.count == 101 and .comm == "calls" and .pid == .tid and (.cpu | type) == "number"' out
	jq -e -s '.[-1] | .type == "summary" and .seen == 101 and .kept == 101 and (.lost | type) == "object" and .missed == 0 and
		.cost.ns_per_hit > 0 and .cost.percent >= 0 and .functions == 1 and .attached == 1 and .refused == 0' out
	assert_eq stderr '' "$(<err)"
}

@test "CSV: a header, one line per row, the books on stderr" {
	fs_ok count -f csv "$FIXTURES/calls:*work" -- "$FIXTURES/calls" 1009 23
	assert_eq header kind,binary,function,count "$(sed -n 1p out)"
	assert_eq first "uprobe,$FIXTURES/calls,work,1009" "$(sed -n 2p out)"
	assert_eq second "uprobe,$FIXTURES/calls,local_work,23" "$(sed -n 3p out)"
	assert_eq lines 3 "$(wc -l <out)"
	assert_match books "$(<err)" 'seen 1032 = kept 1032'
}

@test "CSV: commas, quotes and control bytes in a name" {
	fs_ok count -f csv --by comm "$FIXTURES/comms:work" -- "$FIXTURES/comms"
	assert_match quoted "$(<out)" ',"comma,""quote",11'
	assert_match red "$(<out)" ',\\x1b\[31mred\\x0a,307'
	no_control_bytes out
}

@test "-o FILE: the data goes there, stdout is the command's" {
	fs_ok count -f json -o data "$FIXTURES/calls:work" -- bash -c "$FIXTURES/calls 101; echo mine"
	assert_eq stdout mine "$(<out)"
	assert_match data "$(<data)" '"function":"work","count":101[}]'
	assert_match "summary" "$(tail -n 1 data)" '"type":"summary","seen":101,'
	fs_ok count -o data "$FIXTURES/calls:work" -- "$FIXTURES/calls" 103
	assert_match replaced "$(<data)" 'work +103'
	refute_match replaced "$(<data)" summary
}

@test "-o FILE that cannot be written: an error, and the command is not run" {
	fs_error 1 "/nonexistent/data" count -o /nonexistent/data "$FIXTURES/calls:work" -- touch "$TMP/ran"
	[[ ! -e ran ]] || fail "the command ran"
}

@test "a full device is an error, not a success" {
	[[ -e /dev/full ]] || skip "no /dev/full"
	fs count -f json -o /dev/full "$FIXTURES/calls:work" -- "$FIXTURES/calls" 3
	assert_eq status 1 "$status"
	assert_match stderr "$(<err)" 'write'
}

@test "-d ends the run, with a fraction of a second, and a report" {
	fs_ok count -f json -d 0.2 "$FIXTURES/calls:work"
	books_close
	assert_match "at least this long" "$(summary duration_s)" '^(0\.[2-9]|[1-9])'
	fs_ok count -d 0.1 "$FIXTURES/calls:work"
	assert_match books "$(<out)" 'seen 0 = kept 0'
}

@test "-d with a command: the command goes on" {
	# the command ends by itself when the file appears
	fs_ok count -f json -d 0.1 "$FIXTURES/calls:work" -- bash -c "until [[ -e $TMP/go ]]; do read -t 0.05 <> <(:) || true; done; touch $TMP/ended"
	assert_match note "$(<err)" 'continues'
	[[ ! -e ended ]] || fail "the command had ended already"
	touch go
	eventually test -e ended
}

@test "Ctrl-C, SIGTERM and SIGHUP end with a report and 0" {
	start_runner
	for signal in INT TERM HUP; do
		arm -f json -p "$RUNNER" :work
		ask go 11
		finish "$signal"
		books_close
		assert_calls work 11
	done
}

@test "the end of the process ends the run with a report" {
	start_runner
	arm -f json -p "$RUNNER" :work
	ask go 103
	stop_runner
	join
	books_close
	assert_calls work 103
	assert_match note "$(<err)" 'has exited'
}

@test "-i: the stretches sum up to the total" {
	start_runner
	arm -f json -i 0.05 -p "$RUNNER" :work
	for ((i = 0; i < 20; i++)); do ask go 53; done
	finish
	books_close
	assert_calls work 1060
	assert_eq "every row has its time" 0 "$(rows | grep -c -v time_ns || true)"
}

# sum_so_far N: whether the rows printed until now sum up to N. What is being written may be cut.
sum_so_far() {
	[[ $1 == "$(sed -n 's/.*"count":\([0-9]*\)}$/\1/p; s/^runner  *work  *\([0-9]*\)$/\1/p; s/.*,work,\([0-9]*\)$/\1/p' out |
		awk '{ n += $1 } END { print n + 0 }')" ]]
}

@test "-i: several reports, none of which repeats what the last one said" {
	start_runner
	arm -f json -i 0.05 -p "$RUNNER" :work
	ask go 101
	eventually sum_so_far 101
	ask go 103
	eventually sum_so_far 204
	finish
	books_close
	reports=$(distinct time_ns)
	((reports >= 2)) || fail "only $reports reports"
	assert_calls work 204
}

@test "-i by a key, text and CSV" {
	start_runner
	arm -i 0.05 --by comm -p "$RUNNER" :work
	ask go 101
	eventually sum_so_far 101
	ask go 103
	eventually sum_so_far 204
	finish
	sum_so_far 204 || fail "the last report repeats: $(<out)"
	assert_match total "$(<out)" 'seen 204 = kept 204'
	arm -f csv -i 0.05 -p "$RUNNER" :work
	ask go 101
	eventually sum_so_far 101
	finish
	sum_so_far 101 || fail "the last report repeats: $(<out)"
	assert_eq "one header" 1 "$(grep -c '^time_ns,kind,' out)"
}

@test "-T prints the time" {
	fs_ok count -T "$FIXTURES/calls:work" -- "$FIXTURES/calls" 3
	assert_match clock "$(head -n 1 out)" '^[0-2][0-9]:[0-5][0-9]:[0-6][0-9]'
	fs_json -T "$FIXTURES/calls:work" -- "$FIXTURES/calls" 3
	(($(values time_ns) > 1577836800000000000)) || fail "$(values time_ns) is before 2020"
}

@test "functions not called are hidden unless --zeros asks" {
	fs_json "$FIXTURES/calls:work" "$FIXTURES/calls:never" -- "$FIXTURES/calls" 101
	assert_calls never none
	fs_json --zeros "$FIXTURES/calls:work" "$FIXTURES/calls:never" -- "$FIXTURES/calls" 101
	assert_calls never 0
	assert_calls work 101
	fs_ok count -z "$FIXTURES/calls:never" -- "$FIXTURES/calls" 101
	assert_match row "$(<out)" 'never +0'
}

@test "--sort, --reverse, -n" {
	functions() { values function | tr '\n' ' '; }
	probes=("$FIXTURES/usefix" "$FIXTURES/libfix.so.1:fix_plain" "$FIXTURES/libfix.so.1:fix_imports" "$FIXTURES/libfix.so.1:fix_alias")
	fs_json "${probes[@]:1}" -- "${probes[0]}"
	assert_eq "by count" 'fix_alias fix_plain fix_imports ' "$(functions)"
	fs_json --reverse "${probes[@]:1}" -- "${probes[0]}"
	assert_eq "reversed" 'fix_imports fix_plain fix_alias ' "$(functions)"
	fs_json --sort name "${probes[@]:1}" -- "${probes[0]}"
	assert_eq "by name" 'fix_alias fix_imports fix_plain ' "$(functions)"
	fs_json -s name --reverse "${probes[@]:1}" -- "${probes[0]}"
	assert_eq "by name, reversed" 'fix_plain fix_imports fix_alias ' "$(functions)"
	fs_ok count -f json -n 2 "${probes[@]:1}" -- "${probes[0]}"
	assert_eq "the two most called" 'fix_alias fix_plain ' "$(functions)"
	assert_eq "the books are of all" 156 "$(summary seen)"
}

@test "no room for keys: the loss is named and the books close" {
	fs_json --by tid --max-keys 2 "$FIXTURES/threads:work" -- "$FIXTURES/threads" 8008 8
	assert_eq seen 8008 "$(summary seen)"
	lost=$(summary keys_full)
	((lost > 0)) || fail "nothing was lost with 2 keys for 8 threads"
	fs_ok count --by tid --max-keys 2 "$FIXTURES/threads:work" -- "$FIXTURES/threads" 8008 8
	assert_match books "$(<out)" 'seen 8008 = kept [0-9]+ [+] keys[_ ]full [0-9]+'
}

@test "control bytes in a task's name never come out raw" {
	fs_ok count --by comm "$FIXTURES/comms:work" -- "$FIXTURES/comms"
	no_control_bytes out
	assert_match row "$(<out)" '\\x1b\[31mred\\x0a +work +307'
	fs_json --by comm "$FIXTURES/comms:work" -- "$FIXTURES/comms"
	no_control_bytes out
}

@test "control bytes in a symbol never come out raw" {
	fs_ok count "$FIXTURES/ctlsym:ev*" -- "$FIXTURES/ctlsym"
	no_control_bytes out
	assert_match row "$(<out)" '\\x1b\[31m\\x07il\\x0afunction +71'
	fs_json "$FIXTURES/ctlsym:ev*" -- "$FIXTURES/ctlsym"
	no_control_bytes out
	assert_calls 'ev\u001b[31m\u0007il\u000afunction' 71
	fs_ok count -f csv "$FIXTURES/ctlsym:ev*" -- "$FIXTURES/ctlsym"
	no_control_bytes out
	fs_ok list "$FIXTURES/ctlsym:ev*"
	no_control_bytes out
	fs_error 1 'il' count "$FIXTURES/ctlsym:ev?il" -d 0.1
}

@test "control bytes in a file's name never come out raw" {
	cp "$FIXTURES/calls" $'e\033[31mv\nil'
	fs_ok count $'./e\033[31mv\nil:work' -- $'./e\033[31mv\nil' 11
	no_control_bytes out
	no_control_bytes err
	fs_json $'./e\033[31mv\nil:work' -- $'./e\033[31mv\nil' 11
	no_control_bytes out
	assert_calls work 11
	fs_ok list $'./e\033[31mv\nil:work'
	no_control_bytes out
	fs_error 1 'il' count $'./e\033[31mv\nil:nosuch' -d 0.1
	fs_error 1 'il' count $'./no\033[31msuch\nfile:work' -d 0.1
	fs_error 2 'there is no command' $'\033[31mco\nunt'
	fs_error 2 'option' count $'--\033[31mno\nsuch'
	fs_error 1 'cannot run' count "$FIXTURES/calls:work" -- $'./no\033[31msuch\nprogram'
	fs_ok count "$FIXTURES/calls:work" -- bash -c $'exec -a "e\033[31mvil" bash -c "exit 3"'
	no_control_bytes err
}

@test "a broken pipe ends the run quietly" {
	start_runner
	mkfifo pipe
	"$FUNCSCOPE" count -f json -i 0.05 -p "$RUNNER" :work >pipe 2>err 3>&- </dev/null &
	FS=$!
	PIDS+=("$FS")
	head -n 1 <pipe >first &
	ask spin
	status=0
	wait "$FS" || status=$?
	assert_match first "$(<first)" '"type":"count"'
	((status != 0)) || fail "writing into a closed pipe was a success"
	ask stop
}

# costs_add_up TYPE: what the rows cost is what the summary says that all cost, to a ns each.
costs_add_up() {
	local n sum=0 each all
	while read -r n; do sum=$((sum + n)); done < <(values cost_ns "type=$1")
	each=$(field ns_per_hit "$(summary cost)")
	all=$(awk -v seen="$(summary seen)" -v each="$each" 'BEGIN { printf "%.0f", seen * each }')
	# ns_per_hit has a decimal
	((sum > 0 && (sum - all) ** 2 <= (2 + $(summary seen) / 10) ** 2)) || fail "rows cost $sum, all cost $all: $(<out)"
}

@test "--cost: what each function costs, in sum what all cost" {
	local command
	fs_ok count --cost -f json "$FIXTURES/calls:*work" -- "$FIXTURES/calls"
	costs_add_up count
	fs_ok time --cost -f json "$FIXTURES/calls:*work" -- "$FIXTURES/calls"
	costs_add_up latency
	fs_ok stack --cost -f json "$FIXTURES/chains:chain_leaf" -- "$FIXTURES/chains"
	costs_add_up stack
	fs_ok count "$FIXTURES/calls:*work" -- "$FIXTURES/calls"
	refute_match "without --cost" "$(<out)" COST
	fs_ok count --cost "$FIXTURES/calls:*work" -- "$FIXTURES/calls"
	assert_match text "$(<out)" $'CALLS +COST\nwork +1009 +[0-9.]+ [um]s\n'
	fs_ok time --cost "$FIXTURES/calls:*work" -- "$FIXTURES/calls"
	assert_match text "$(<out)" $'MAX +COST\nwork.* [0-9.]+ [um]s\n'
	fs_ok stack --cost "$FIXTURES/chains:chain_leaf" -- "$FIXTURES/chains"
	assert_match text "$(<out)" '30, cost [0-9.]+ [um]s'
	for command in count "time" stack; do
		fs_ok "$command" --cost -f csv "$FIXTURES/chains:chain_leaf" -- "$FIXTURES/chains"
		assert_match "$command, csv" "$(head -n 1 out)" '(^|,)cost_ns(,|$)'
		assert_eq "$command, columns" 1 "$(sed 's/[^,]//g' out | sort -u | wc -l)"
	done
	fs_error 2 "a line per call" trace --cost "$FIXTURES/calls:work" -d 1
}
