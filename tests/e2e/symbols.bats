# Finding functions: ways of linking, places of symbol tables, versions, aliases, imports, other languages' names, libraries by short name.
load common

DEBUG_ID=/usr/lib/debug/.build-id/f5

setup() { e2e_setup; }
teardown() {
	e2e_teardown
	[[ -z ${INSTALLED:-} ]] || { rm -f "$INSTALLED"; rmdir -p "${INSTALLED%/*}" 2>/dev/null || true; }
}

# counts_both PROGRAM: work and local_work are found and counted.
counts_both() {
	fs_json "$FIXTURES/$1:work" "$FIXTURES/$1:local_work" -- "$FIXTURES/$1" 101 23
	assert_calls work 101
	assert_calls local_work 23
}

@test "position independent" {
	counts_both pie
}

@test "not position independent" {
	counts_both nopie
}

@test "static" {
	counts_both static
}

@test "stripped: what it exports is found, what is gone is not" {
	fs_json "$FIXTURES/stripped:work" -- "$FIXTURES/stripped" 101
	assert_calls work 101
	fs_error 1 "local_work" count "$FIXTURES/stripped:local_work" -- "$FIXTURES/stripped" 101
}

@test "MiniDebugInfo (.gnu_debugdata)" {
	counts_both minidebug
}

@test "a separate debug file, by build id" {
	fs_error 1 "local_work" list "$FIXTURES/sepdebug:local_work"
	mkdir -p "$DEBUG_ID" 2>/dev/null || skip "cannot write $DEBUG_ID"
	INSTALLED=$DEBUG_ID/c0ffee00112233445566778899aabbccddeeff.debug
	cp "$FIXTURES/sepdebug.debug" "$INSTALLED"
	counts_both sepdebug
}

@test "versions of one name are told apart" {
	fs_json "$FIXTURES/libfix.so.1:fix_versioned" -- "$FIXTURES/usefix"
	assert_eq "seen" 34 "$(summary seen)"
	assert_calls fix_versioned@FIX_1 11
	assert_calls fix_versioned 23
}

@test "a version can be asked for" {
	fs_json "$FIXTURES/libfix.so.1:fix_versioned@FIX_1" -- "$FIXTURES/usefix"
	assert_eq "the old one" 11 "$(summary seen)"
	fs_json "$FIXTURES/libfix.so.1:fix_versioned@@FIX_2" -- "$FIXTURES/usefix"
	assert_eq "the default one" 23 "$(summary seen)"
	fs_json "$FIXTURES/libfix.so.1:fix_versioned@FIX_2" -- "$FIXTURES/usefix"
	assert_eq "the default one by one @" 23 "$(summary seen)"
}

@test "a stripped library with versions" {
	fs_json "$FIXTURES/bare/libfix.so.1:fix_*" -- env LD_LIBRARY_PATH="$FIXTURES/bare" "$FIXTURES/usefix"
	assert_calls fix_plain 47
	assert_calls fix_versioned@FIX_1 11
	assert_calls fix_versioned 23
	assert_calls fix_implementation none
}

@test "aliases of one address attach once and count once" {
	fs_json "$FIXTURES/libfix.so.1:fix_alias*" -- "$FIXTURES/usefix"
	assert_eq seen 68 "$(summary seen)"
	assert_eq attached 1 "$(summary attached)"
	fs_json "$FIXTURES/libfix.so.1:fix_alias_too" -- "$FIXTURES/usefix"
	assert_eq seen 68 "$(summary seen)"
	fs_ok list -f json "$FIXTURES/libfix.so.1:fix_alias*"
	assert_eq "lines" 1 "$(wc -l <out)"
	assert_match "both names" "$(<out)" 'fix_alias_too'
}

@test "imports never match" {
	fs_error 1 "no function of .*usefix matches 'fix_plain'" count "$FIXTURES/usefix:fix_plain" -- "$FIXTURES/usefix"
	fs_error 1 "no function of .*libfix.so.1 matches 'getppid'" list "$FIXTURES/libfix.so.1:getppid"
	fs_ok list -f json "$FIXTURES/usefix:*"
	assert_eq "imports listed" 0 "$(values function | grep -c '^fix_' || true)"
}

@test "an indirect function is explained; its code can be counted" {
	fs_error 1 "indirect function" count "$FIXTURES/libfix.so.1:fix_picked" -- "$FIXTURES/usefix"
	fs_json "$FIXTURES/libfix.so.1:fix_implementation" -- "$FIXTURES/usefix"
	assert_calls fix_implementation 43
	fs_json "$FIXTURES/libfix.so.1:fix_p*" -- "$FIXTURES/usefix"
	assert_calls fix_plain 47
	assert_match refused "$(summary refused_functions)" '"fix_picked"'
}

@test "C++: demangled names, without and with parameters" {
	fs_json "$FIXTURES/cxx:shop::open_door" -- "$FIXTURES/cxx"
	assert_eq open_door 13 "$(summary seen)"
	fs_json "$FIXTURES/cxx:shop::sell" -- "$FIXTURES/cxx"
	assert_eq "both overloads" 52 "$(summary seen)"
	fs_json "$FIXTURES/cxx:shop::sell(int)" -- "$FIXTURES/cxx"
	assert_eq "one overload" 23 "$(summary seen)"
	assert_calls 'shop::sell(int)' 23
	fs_json "$FIXTURES/cxx:shop::Customer::*pay*" -- "$FIXTURES/cxx"
	assert_eq "a method" 37 "$(summary seen)"
}

@test "C++: templates, constructors, operators, exceptions" {
	fs_json "$FIXTURES/cxx:*twice<*" -- "$FIXTURES/cxx"
	assert_eq "both instances" 36 "$(summary seen)"
	fs_json "$FIXTURES/cxx:*twice<double>*" -- "$FIXTURES/cxx"
	assert_eq "one instance" 19 "$(summary seen)"
	fs_json "$FIXTURES/cxx:shop::Customer::Customer" -- "$FIXTURES/cxx"
	assert_eq "constructor" 31 "$(summary seen)"
	assert_eq "attached once" 1 "$(summary attached)"
	fs_json "$FIXTURES/cxx:shop::Customer::operator+=*" -- "$FIXTURES/cxx"
	assert_eq "operator" 43 "$(summary seen)"
	fs_json "$FIXTURES/cxx:shop::refuse*" -- "$FIXTURES/cxx"
	assert_eq "thrown" 41 "$(summary seen)"
	refute_match "the program lived" "$(<err)" 'status|signal'
}

@test "a return probe on C++ code lets exceptions pass" {
	fs_json "r:$FIXTURES/cxx:shop::*" -- "$FIXTURES/cxx"
	assert_calls 'shop::open_door()' 13
	refute_match "the program lived" "$(<err)" 'status|signal'
	assert_match refused "$(summary refused_functions)" 'refuse\(int\)","why":"it never returns'
	# the kernel's return trampoline stops the unwinder: a throw through it ends the program
	fs_json --returns trampoline "r:$FIXTURES/cxx:shop::open_door" -- "$FIXTURES/cxx"
	assert_eq returns 13 "$(summary seen)"
	assert_match stderr "$(<err)" 'exception'
}

@test "C++: the mangled name works, too, and -x by either" {
	fs_json "$FIXTURES/cxx:_ZN4shop9open_doorEv" -- "$FIXTURES/cxx"
	assert_calls 'shop::open_door()' 13
	assert_eq symbol _ZN4shop9open_doorEv "$(values symbol)"
	fs_json "$FIXTURES/cxx:shop::*" -x 'shop::Customer::*' -x '*twice*' -x '_ZN4shop6refuseEi' -- "$FIXTURES/cxx"
	assert_eq "what is left" 65 "$(summary seen)"
}

@test "C++: a name of the command's own program" {
	fs_json 'shop::open_door' -- "$FIXTURES/cxx"
	assert_eq open_door 13 "$(summary seen)"
}

@test "Rust: both manglings, mangled and demangled" {
	fs_json "$FIXTURES/rust:mycrate::alpha" -- "$FIXTURES/rust"
	assert_calls mycrate::alpha 53
	fs_json "$FIXTURES/rust:mycrate::beta" -- "$FIXTURES/rust"
	assert_calls mycrate::beta 61
	fs_json "$FIXTURES/rust:mycrate::inner::*" -- "$FIXTURES/rust"
	assert_calls mycrate::inner::gamma 59
	fs_json "$FIXTURES/rust:_RNvCs4fqI2P2rA04_7mycrate5alpha" -- "$FIXTURES/rust"
	assert_eq seen 53 "$(summary seen)"
	fs_json "$FIXTURES/rust:mycrate*" -- "$FIXTURES/rust"
	assert_eq "all of them" 173 "$(summary seen)"
}

@test "a library by short name, from the loader cache" {
	start_runner
	arm -f json -p "$RUNNER" c:fgets
	ask go 1
	ask go 1
	ask go 1
	finish
	calls=$(calls function=fgets)
	((calls == 3 || calls == 2)) || fail "three lines were read, fgets counted $calls times"
	fs_ok list -f json c:getppid
	assert_match binary "$(values binary)" '/libc\.so\.6$'
	fs_ok list -f json libc:getppid libc.so.6:getppid
	assert_eq "lines" 1 "$(wc -l <out)"
}

@test "a library by short name, from what the process has mapped" {
	mkdir lib
	cp "$FIXTURES/bare/libfix.so.1" "$FIXTURES/usefix" lib/
	start_runner env LD_PRELOAD="$TMP/lib/libfix.so.1" "$FIXTURES/runner"
	fs_ok list -f json -p "$RUNNER" fix:fix_plain
	assert_eq binary "$TMP/lib/libfix.so.1" "$(values binary)"
	fs_error 1 "fix" list fix:fix_plain
}

@test "a program by name, from PATH" {
	PATH=$FIXTURES:$PATH fs_json calls:work -- calls 101
	assert_calls work 101
	assert_eq binary "$FIXTURES/calls" "$(values binary)"
}

@test "a program by relative path" {
	cp "$FIXTURES/calls" here
	fs_json ./here:work -- ./here 101
	assert_calls work 101
}

@test "the process's own program: :NAME with -p and with a command" {
	fs_json :work -- "$FIXTURES/calls" 101
	assert_calls work 101
	start_runner
	arm -f json -p "$RUNNER" :work
	ask go 11
	finish
	assert_calls work 11
}

@test "a colon in a path can be escaped" {
	mkdir a:b
	cp "$FIXTURES/calls" a:b/calls
	fs_json 'a\:b/calls:work' -- a:b/calls 101
	assert_calls work 101
}

@test "a container's file, through /proc/PID/root: private mount" {
	need_command unshare
	mkdir hidden
	unshare -m true 2>/dev/null || skip "no mount namespaces here"
	# shellcheck disable=SC2016 # expands inside
	start_runner unshare -m bash -c 'mount -t tmpfs tmpfs "$1" && cp "$2" "$1/inside" && exec "$1/inside"' x "$TMP/hidden" "$FIXTURES/runner"
	[[ ! -e hidden/inside ]] || fail "the mount is not private"
	arm -f json -p "$RUNNER" "$TMP/hidden/inside:work"
	ask go 101
	finish
	assert_calls work 101
	arm -f json -p "$RUNNER" :work
	ask go 11
	finish
	assert_calls work 11
}

@test "a container's file, through /proc/PID/root: chroot" {
	need_command chroot
	mkdir jail
	cp "$FIXTURES/runner-static" jail/runner
	start_runner chroot "$TMP/jail" /runner
	arm -f json -p "$RUNNER" /runner:work
	ask go 103
	finish
	assert_calls work 103
}

@test "a program whose file was deleted while it runs" {
	cp "$FIXTURES/runner" gone
	start_runner "$TMP/gone"
	rm gone
	arm -f json -p "$RUNNER" :work
	ask go 103
	finish
	assert_calls work 103
}

@test "a program whose file was replaced while it runs: the running one is meant" {
	cp "$FIXTURES/runner" busy
	start_runner "$TMP/busy"
	cp "$FIXTURES/recurse" new
	mv new busy
	arm -f json -p "$RUNNER" :work
	ask go 103
	finish
	assert_calls work 103
}

@test "a place by its address: a function, with and without a name, and an instruction inside" {
	local entry inside long
	entry=$(nm "$FIXTURES/calls" | sed -n 's/^0*\([0-9a-f]*\) . work$/0x\1/p')
	fs_json "$FIXTURES/calls:$entry" -- "$FIXTURES/calls" 103
	assert_calls work 103
	strip -s -o bare "$FIXTURES/calls"
	fs_error 1 "stripped" count bare:work -- ./bare 103
	fs_json "bare:$entry" -- ./bare 103
	assert_calls "$entry" 103
	fs_ok time -f json "bare:$entry" -- ./bare 103
	assert_match timed "$(<out)" "\"function\":\"$entry\".*\"count\":103"
	inside=$(objdump -d --no-show-raw-insn "$FIXTURES/calls" | awk '/<main>:$/ { n = 3 } n && !--n { sub(":", "", $1); print "0x" $1 }')
	fs_json "$FIXTURES/calls:$inside" -- "$FIXTURES/calls" 3
	assert_match inside "$(<out)" '"function":"main\+0x[0-9a-f]+","count":1[,}]'
	fs_error 2 "inside a function" time "$FIXTURES/calls:$inside" -- "$FIXTURES/calls" 3
	fs_error 1 "has no function at 0x10" count "$FIXTURES/calls:0x10" -- "$FIXTURES/calls" 3
	# The second byte of an instruction that has two.
	long=$(objdump -d "$FIXTURES/calls" | awk '/<main>:$/ { on = 1 } on && /:\t[0-9a-f][0-9a-f] [0-9a-f][0-9a-f] / { sub(":", "", $1); print $1; exit }')
	fs_error 2 "no instruction begins at" count "$FIXTURES/calls:$(printf 0x%x $((0x$long + 1)))" -- "$FIXTURES/calls" 3
}
