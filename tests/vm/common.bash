# What every script of the virtual-machine suite shares: where things lie, the
# table of guests, and the one way to say that something is missing. Sourced,
# never run. Nothing here fetches, builds or boots.
# shellcheck shell=bash

shopt -s inherit_errexit

VM_SRC=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
VM_TOP=$(cd "$VM_SRC/../.." && pwd)
VM_DIR=${VM_DIR:-$VM_TOP/build/vm}

# Exit status of a script that could not do its work on this machine, as
# opposed to one that did it and failed. Automake's and meson's number.
VM_SKIP=77

# guest -> architecture; the suites its kernel is fetched from; the release wanted, where it is not simply the newest there
declare -Ar VM_ARCH=(
	[amd64-6.1]=amd64
	[amd64-6.12]=amd64
	[amd64-6.18]=amd64
	[amd64-newest]=amd64
	[arm64-6.12]=arm64
)
# shellcheck disable=SC2034 # read by tests/vm/kernel
declare -Ar VM_SUITES=(
	[amd64-6.1]=bookworm
	[amd64-6.12]=bookworm-backports
	[amd64-6.18]=trixie-backports
	[amd64-newest]="sid experimental"
	[arm64-6.12]=bookworm-backports
)
# shellcheck disable=SC2034 # read by tests/vm/kernel
declare -Ar VM_RELEASE=(
	[amd64-6.18]=6.18
)

die() {
	printf '%s: %s\n' "${0##*/}" "$*" >&2
	exit 1
}

# missing REASON: this machine lacks something; whoever runs us reports a skip.
missing() {
	printf '%s: %s\n' "${0##*/}" "$*" >&2
	exit "$VM_SKIP"
}

# vm_skip GUEST OUTPUT: the one line that says why a guest is not run, made
# from what the script that called missing printed.
vm_skip() {
	local reason=${2##*$'\n'}
	printf '# skip vm %s: %s\n' "$1" "${reason#*: }"
}

need_command() {
	command -v "$1" >/dev/null || missing "$1 is not installed (package $2)"
}

need_guest() {
	[[ -n ${VM_ARCH[${1:-}]:-} ]] ||
		die "no guest '${1:-}'; known: $(vm_guests)"
}

vm_guests() {
	printf '%s\n' "${!VM_ARCH[@]}" | sort -V | paste -sd' '
}

# vm_locked NAME COMMAND...: two suites may start at once and share the cache.
vm_locked() {
	local name=$1
	shift
	mkdir -p "$VM_DIR"
	(
		flock 9
		"$@"
	) 9>"$VM_DIR/.lock-$name"
}
