#!/usr/bin/env bats
# examples/proxy: it builds, proxies every request, and its stages are counted exactly.

load common.bash

setup() { e2e_setup; }
teardown() { e2e_teardown; }

build_example() {
	not_in_guest
	cp -r "$E2E_TOP/examples/proxy" "$TMP/proxy"
	cd "$TMP/proxy" || return
	make -s clean
	make -s LIB="$E2E_TOP/lib"
}

@test "both proxies pass every request on, and time every stage" {
	build_example
	for which in before after; do
		fs_ok attach -f json -- ./load ./proxy-$which 400
		for stage in request answer 'parse headers'; do
			assert_eq "$which: $stage" 400 "$(values count "function=$stage")"
		done
	done
}

@test "the comparison has a row for each stage" {
	build_example
	fs_ok diff -f json --pairs 6 --run './load ./proxy-before 200' --run './load ./proxy-after 200'
	for stage in request answer receive 'parse headers' 'find the end' 'wall time' 'CPU time'; do
		assert_eq "$stage" 1 "$(rows "function=$stage" stat=p50 | wc -l)"
	done
}
