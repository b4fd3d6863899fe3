#!/usr/bin/env bats
# examples/proxy: it builds, proxies every request, and its stages are counted exactly. examples/reader: it builds, and reads what the
# program did and what attach reads.

load common.bash

setup() { e2e_setup; }
teardown() { e2e_teardown; }

# build_example NAME
build_example() {
	not_in_guest
	cp -r "$E2E_TOP/examples/$1" "$TMP/$1"
	cd "$TMP/$1" || return
	make -s clean
	make -s LIB="$E2E_TOP/lib"
}

@test "both proxies pass every request on, and time every stage" {
	build_example proxy
	for which in before after; do
		fs_ok attach -f json -- ./load ./proxy-$which 400
		for stage in request answer 'parse headers'; do
			assert_eq "$which: $stage" 400 "$(values count "function=$stage")"
		done
	done
}

@test "the comparison has a row for each stage" {
	build_example proxy
	fs_ok diff -f json --pairs 6 --run './load ./proxy-before 200' --run './load ./proxy-after 200'
	for stage in request answer receive 'parse headers' 'find the end' 'wall time' 'CPU time'; do
		assert_eq "$stage" 1 "$(rows "function=$stage" stat=p50 | wc -l)"
	done
}

# read_by_example ARGS...: the reader's rows in $TMP/read.
read_by_example() {
	./reader "$@" >"$TMP/read" || fail "the reader failed on: $*"
}

# column N NAME: of that row.
column() {
	awk -v n="$1" -v name="$2" '$1 == name { print $n }' "$TMP/read"
}

# compared NAME: calls are those of attach, times are as well but for how long each took a tick to be.
compared() {
	local i=2 key ours theirs
	assert_eq "calls of $1" "$(values count "function=$1")" "$(column 2 "$1")"
	for key in total avg min max; do
		((++i))
		ours=$(column "$i" "$1")
		theirs=$(values "${key}_ns" "function=$1")
		awk -v a="$ours" -v b="$theirs" 'BEGIN { exit !(b > 0 && a >= b * 0.98 - 1 && a <= b * 1.02 + 1) }' ||
			fail "$key of $1: attach says $theirs, the reader $ours"
	done
}

@test "the reader: exactly what a process did, and what attach says of it" {
	build_example reader
	start_runner "$FIXTURES/scoped"
	ask go 1003
	ask threads 3 500
	ask feed 2000
	read -ra fed <<<"$ANSWER" # P50 P90 P99 P999 MIN MAX
	read_by_example -t "$RUNNER"
	assert_eq "calls by number" 2503 "$(column 2 numbered)"
	assert_eq "calls by name" 2503 "$(column 2 named)"
	assert_eq "fed, least" "${fed[4]}" "$(column 5 fed)"
	assert_eq "fed, greatest" "${fed[5]}" "$(column 6 fed)"
	fs_ok attach --once --raw -f json "$RUNNER"
	read_by_example "$RUNNER"
	for name in numbered named fed; do compared "$name"; done
}

# refuses REGEX ARGS...: one sentence, and nothing on stdout.
refuses() {
	status=0
	./reader "${@:2}" >"$TMP/out" 2>"$TMP/err" || status=$?
	check_error 1 "$1" "reader ${*:2}"
}

@test "the reader: the files of a crash; what is no memory, another version, or cut is refused" {
	build_example reader
	mkdir files
	printf 'go 321\nnames 600\nthreads 8 5\ncrash\n' | FUNCSCOPE_DIRECTORY=$PWD/files "$FIXTURES/scoped" >/dev/null 2>&1 || true
	first=$(echo files/funcscope.*.0)
	[[ -e ${first%0}1 ]] || fail "one file: the test needs several"
	fs_ok attach --once --raw -f json "$first"
	read_by_example "$first"
	assert_eq "calls" 361 "$(column 2 numbered)"
	for name in numbered named; do compared "$name"; done

	refuses "cannot open 'files/none': No such file" files/none
	refuses "does not begin as one" Makefile
	refuses "process $$ has no memory of lib/funcscope" $$
	printf '\007' | dd of="$first" bs=1 seek=8 conv=notrunc status=none
	refuses "has layout 7, this program reads 1" "$first"
	printf '\001' | dd of="$first" bs=1 seek=8 conv=notrunc status=none
	truncate -s -64 "${first%0}1"
	refuses "is truncated: part 2 of" "$first"
	rm "${first%0}1"
	refuses "is truncated: part 2 of" "$first"
	head -c 100 "$first" >short.0
	refuses "does not begin as one" short.0
}
