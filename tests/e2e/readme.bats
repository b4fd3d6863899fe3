#!/usr/bin/env bats
# Every command in a ```console block of README.md and docs/*.md is run as it stands there, and prints output of the shape that the
# page shows below it (doc_examples.py says what that means). The commands of a page share a directory, in which build, lib and
# examples are reachable as in the repository.

load common.bash

# What is not run here: the beginning of a command, and why.
NOT_RUN=(
	"funcscope diff --pairs 900 => takes four minutes"
	"funcscope diff --run './load ./proxy-before 20000' => takes half a minute; README.md has a shorter one"
	"funcscope diff --fail-if-slower 2% --run './load => takes half a minute; README.md has a shorter one"
	"echo \$? => of the command before it, which is not run"
)

setup() {
	e2e_setup
	not_in_guest
	need_command python3
	need_command make
}
teardown() { e2e_teardown; }

# reason_not_to_run COMMAND: prints it; fails if the command is to be run.
reason_not_to_run() {
	local entry
	for entry in "${NOT_RUN[@]}"; do
		[[ $1 != "${entry%% => *}"* ]] || echo "${entry#* => }"
	done | grep .
}

# The pages that the commands are in; the Chinese README has those of README.md.
pages() {
	local page
	for page in "$E2E_TOP"/docs/*.md; do
		[[ $page == */README.zh.md ]] || echo "$page"
	done
}

examples() {
	python3 "$E2E_TOP/tests/e2e/doc_examples.py" "$@"
}

make_scratch_directory() {
	private_libc
	mkdir "$TMP/tree"
	ln -s "$FIXTURES/.." "$TMP/tree/build"
	ln -s "$E2E_TOP/lib" "$TMP/tree/lib"
	cp -r "$E2E_TOP/examples" "$TMP/tree/examples"
	rm -f "$TMP"/tree/examples/proxy/{load,proxy-before,proxy-after}
	export LD_LIBRARY_PATH=$TMP/lib PATH=${FUNCSCOPE%/*}:$PATH
}

# run_page PAGE: prints where the page and the program disagree.
run_page() {
	local line command list ended=0
	cd "$TMP/tree" || return
	list=$(examples list "$1" 2>&1) || { echo "$list" && return; }
	while IFS=$'\t' read -r -u 4 line command; do
		if [[ -z $command ]] || reason_not_to_run "$command" >/dev/null; then continue; fi
		# In this shell, so that cd has its effect; with the status of the command before, which it may ask for.
		eval "(exit $ended)"$'\n'"$command" >"$TMP/out" 2>&1 3>&- 4<&- </dev/null && ended=0 || ended=$?
		examples check "$1" "$line" "$TMP/out" || true
	done 4<<<"$list"
}

@test "the commands of README.md print what stands below them" {
	need_fixture gpu/gpuapp13
	make_scratch_directory
	wrong=$(run_page "$E2E_TOP/README.md")
	[[ -z $wrong ]] || fail "$wrong"
}

@test "the commands of docs/*.md print what stands below them" {
	make_scratch_directory
	wrong=$(for page in $(pages); do run_page "$page"; done)
	[[ -z $wrong ]] || fail "$wrong"
}

@test "README.zh.md has the examples of README.md" {
	examples within "$E2E_TOP/docs/README.zh.md" "$E2E_TOP/README.md"
}

@test "an output under another command is found" {
	printf '%s\n' '```console' '# true' '  TOTAL    SELF       CALLS  FUNCTION' ' 71.43%   0.00%          30  main' '```' >page.md
	printf '%s\n' 'FUNCTION  CALLS' 'main         30' >right-numbers
	printf '%s\n' '  TOTAL    SELF       CALLS  FUNCTION' '100.00%   0.00%           3  main' >same-shape
	examples check page.md 2 same-shape
	run ! examples check page.md 2 right-numbers
}

@test "the commands that are not run" {
	local page command entry all=''
	for page in "$E2E_TOP/README.md" $(pages); do
		while IFS=$'\t' read -r _ command; do
			if entry=$(reason_not_to_run "$command"); then all+="; ${page##*/}: $command ($entry)"; fi
		done < <(examples list "$page")
	done
	for entry in "${NOT_RUN[@]}"; do
		[[ $all == *": ${entry%% => *}"* ]] || fail "no page has the command '${entry%% => *}'"
	done
	skip "${all#; }"
}
