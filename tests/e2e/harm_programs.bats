# Real programs under full tracing, from private copies of their libraries: they must do what they do untraced, byte for byte. What
# is run and compared is in tests/harm/programs and tests/harm/jobs; HARM=full does all of it.
load common

setup() { e2e_setup; }
teardown() { e2e_teardown; }

# full JOB: the same, only where all is asked for.
full() {
	[[ ${HARM:-} == full ]] || skip "only with HARM=full"
	unchanged "$1"
}

# unchanged JOB
unchanged() {
	local said status=0
	[[ -z ${IN_VM:-} ]] || skip "real programs are not in the guests"
	[[ $(uname -m) == x86_64 ]] || skip "x86-64 only"
	need_command jq
	said=$(FUNCSCOPE=$FUNCSCOPE FIXTURES=$FIXTURES TMPDIR=$TMP "$E2E_TOP/tests/harm/programs" "$1" 2>&1 3>&-) || status=$?
	[[ $said != *' # skip '* ]] || skip "${said##* # skip }"
	((status == 0)) || fail "$said"
}

@test "bash is not changed by tracing it" { unchanged bash; }

@test "git is not changed by tracing it" { full git; }

@test "gzip and xz are not changed by tracing them" { full gzip; }

@test "no result of libm is changed by tracing it" { unchanged libm; }

@test "LuaJIT is not changed by tracing it" { unchanged luajit; }

@test "node is not changed by tracing it" { unchanged node; }

@test "openssl is not changed by tracing it" { full openssl; }

@test "perl is not changed by tracing it" { full perl; }

@test "python3 is not changed by tracing it" { unchanged python3; }

@test "redis-server is not changed by tracing it" { unchanged redis; }

@test "SQLite is not changed by tracing it" { unchanged sqlite3; }

@test "exceptions, cancelled threads, jumps and contexts are not changed by tracing the C library" { unchanged unwinds; }

@test "the C library's lesser variants are not changed by tracing them" { unchanged variants; }
