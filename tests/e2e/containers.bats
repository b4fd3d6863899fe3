# Containers made by hand, of overlay mounts in mount and pid namespaces: however many mounts show a file of an image, it is one inode
# in the kernel, and each of its calls counts once.
#
# What an overlay shows depends on the kernel, so all of them run in guests with Linux 6.1 and 6.12 as well.
load common
load measure
load snoop

setup() {
	e2e_setup
	declare -gA PID_OF=() OUTER=()
	need_overlay
	mkdir -p image/bin image/old image/proc
	cp "$FIXTURES/runner-static" image/bin/contained
	configure '"custom_sym": {"work": {"symbol": "work", "library": "contained"}}'
}

# Zombies of containers would be targets of the next test.
teardown() {
	local name
	for name in "${!PID_OF[@]}"; do remove "$name"; done
	e2e_teardown
}

# ---- containers ----

need_overlay() {
	local why
	need_command unshare
	need_command pivot_root
	need_command pgrep
	need_fixture runner-static
	mkdir -p try/lower try/upper try/work try/root
	why=$(unshare -m -p -f mount -t overlay overlay -o lowerdir=try/lower,upperdir=try/upper,workdir=try/work try/root 2>&1) ||
		skip "no overlay in a mount namespace here: ${why//$'\n'/ }"
	rm -rf try
}

# In the namespaces: DIR HOW. "copied" writes the program in the upper layer, "metacopy" only its metadata; "apart" has that layer on
# another file system.
# shellcheck disable=SC2016 # expands inside
ENTER='set -e
[ "$2" != apart ] || mount -t tmpfs tmpfs "$1/layers"
mkdir "$1/layers/upper" "$1/layers/work"
options=
[ "$2" != metacopy ] || options=,metacopy=on
mount -t overlay overlay -o "lowerdir=$1/../image,upperdir=$1/layers/upper,workdir=$1/layers/work$options" "$1/root"
cd "$1/root"
[ "$2" != metacopy ] || chmod 711 bin/contained
[ "$2" != copied ] || touch bin/contained
[ "$2" != chroot ] || exec chroot . /bin/contained
pivot_root . old
exec /bin/contained'

# container NAME [HOW]: starts one of the image; its pid outside is in PID_OF[NAME].
container() {
	local dir=$TMP/$1 outer word
	mkdir -p "$dir/root" "$dir/layers"
	mkfifo "$dir/to" "$dir/from"
	unshare -m -p -f --kill-child sh -c "$ENTER" sh "$dir" "${2:-}" 0<>"$dir/to" 1<>"$dir/from" 2>"$dir/err" 3>&- &
	outer=$!
	PIDS+=("$outer")
	OUTER[$1]=$outer
	read -r -t 60 word _ <"$dir/from" || fail "container $1 did not start: $(<"$dir/err")"
	assert_eq "first word of $1" runner "$word"
	PID_OF[$1]=$(pgrep -P "$outer")
}

# in_container NAME COMMAND...: as ask.
in_container() {
	printf '%s\n' "${*:2}" >"$TMP/$1/to"
	read -r -t 60 WORD _ <"$TMP/$1/from" || fail "container $1 is gone, at: ${*:2}"
	assert_eq "answer to ${*:2}" "done" "$WORD"
}

# remove NAME: the process ends, and with it the mount.
remove() {
	kill -KILL "${PID_OF[$1]}" 2>/dev/null || true
	wait "${OUTER[$1]}" || true
	unset "PID_OF[$1]"
}

# watched_in INODES: work has so many places.
watched_in() {
	ctl list
	[[ $(field places "$(grep '"function":"work"' "$TMP/answer")") == "$1" ]]
}

# compared PATH: the monitor has compared that file with those it knew, and has done what follows from it.
compared() {
	eventually grep -q -e "'$1' and '" "$TMP/err"
	ctl status
}

# once N: the monitor ends; work was called so often, each call was seen once, under the name that a container has for it.
once() {
	ended
	assert_timed work "$1" binary=/bin/contained
	assert_eq "seen" "$1" "$(summary seen)"
	assert_eq "rows" 1 "$(rows type=latency | wc -l)"
}

# ---- the monitor ----

# bats test_tags=containers
@test "five containers of one image, one after another" {
	local i
	snoop -v
	container c1
	eventually watched_in 1
	in_container c1 go 1000
	remove c1
	for i in 2 3 4 5; do
		container "c$i"
		in_container "c$i" go 500
		# The first one's mount is still in use; the others have the second one's device again.
		((i > 2)) || compared "/proc/${PID_OF[c$i]}/root/bin/contained"
		in_container "c$i" go 500
		remove "c$i"
	done
	once 5000
}

# bats test_tags=containers,guest,long
@test "three containers of one image at once, running before the monitor and started later" {
	container a
	container b apart
	snoop -v
	container c
	compared "/proc/${PID_OF[c]}/root/bin/contained"
	in_container a go 1000
	in_container b go 2000
	in_container c go 3000
	once 6000
}

# bats test_tags=containers
@test "functions of the programs of targets by name, in containers" {
	configure '"custom_sym": {"work": "work"}, "targets": {"names": ["contained"]}'
	container a
	container b
	snoop
	eventually watched_in 1
	in_container a go 1000
	in_container b go 2000
	once 3000
}

# bats test_tags=containers
@test "a container that is a chroot has the names of its inside" {
	configure '"custom_sym": {"work": "work"}, "targets": {"names": ["contained"]}'
	container a chroot
	container b chroot
	snoop
	eventually watched_in 1
	in_container a go 1000
	in_container b go 100
	once 1100
}

# bats test_tags=containers
@test "a container, then the file of the image itself" {
	container a
	snoop -v
	start_runner "$TMP/image/bin/contained"
	compared "$TMP/image/bin/contained"
	ask go 500
	in_container a go 1000
	once 1500
}

# bats test_tags=containers
@test "the file of the image itself, then a container" {
	start_runner "$TMP/image/bin/contained"
	snoop -v
	container a apart
	compared "/proc/${PID_OF[a]}/root/bin/contained"
	ask go 500
	in_container a go 1000
	ended
	assert_timed work 1500 "binary=$TMP/image/bin/contained"
	assert_eq "seen" 1500 "$(summary seen)"
}

# bats test_tags=containers
@test "a program copied up is a file of its own, also under the numbers of one before" {
	snoop -v
	container a
	eventually watched_in 1
	in_container a go 1000
	remove a
	container b copied
	eventually watched_in 2
	in_container b go 300
	container c
	compared "/proc/${PID_OF[c]}/root/bin/contained"
	in_container c go 20
	once 1320
}

# bats test_tags=containers,guest
@test "containers that changed the program's mode alone, with metacopy: its data is that of the image still" {
	container a
	container b metacopy
	snoop -v
	container c metacopy
	compared "/proc/${PID_OF[c]}/root/bin/contained"
	in_container a go 100
	in_container b go 20
	in_container c go 3
	once 123
}

# bats test_tags=containers
@test "a reload keeps to one place" {
	container a
	container b
	snoop
	in_container a go 1000
	configure '"custom_sym": {"work": {"symbol": "work", "library": "contained"}}, "slow": "1s"'
	ctl reload
	in_container b go 100
	configure '"custom_sym": {"work": {"symbol": "wor[k]", "library": "contained"}}'
	ctl reload
	eventually watched_in 1
	in_container a go 10
	ended
	assert_eq "calls" 1110 "$(calls type=latency)"
	assert_eq "seen" 1110 "$(summary seen)"
}

# ---- the other commands ----

# bats test_tags=containers
@test "count, time, stack and trace with the processes of two containers" {
	local pids
	container a
	container b apart
	pids=${PID_OF[a]},${PID_OF[b]}
	arm -f json -p "$pids" /bin/contained:work
	in_container a go 1000
	in_container b go 200
	finish
	books_close
	assert_eq "calls counted" 1200 "$(calls function=work binary=/bin/contained)"
	arm_as time -f json -p "$pids" :work
	in_container a go 1000
	in_container b go 200
	finish
	closed latency
	assert_timed work 1200 binary=/bin/contained
	arm_as stack -f json -p "$pids" :work
	in_container a go 100
	in_container b go 20
	finish
	closed stack
	assert_eq "stacks" 120 "$(summary seen)"
	arm_as trace -f json -p "$pids" :work
	in_container a go 10
	in_container b go 20
	finish
	traced
	assert_eq "calls traced" 30 "$(summary seen)"
}

# bats test_tags=containers
@test "count: two containers, one with a program of its own" {
	container a
	container b copied
	arm -f json -p "${PID_OF[a]},${PID_OF[b]}" --by pid :work
	in_container a go 1000
	in_container b go 200
	finish
	books_close
	assert_eq "of the first" 1000 "$(calls function=work "pid=${PID_OF[a]}")"
	assert_eq "of the second" 200 "$(calls function=work "pid=${PID_OF[b]}")"
}

# bats test_tags=containers
@test "nothing is left in a container after the trial" {
	local address
	container a
	container b
	address=$(head -c 16 "/proc/${PID_OF[a]}/exe" | od -An -tx1)
	arm -f json -v -p "${PID_OF[a]},${PID_OF[b]}" :work
	assert_match "a trial was made" "$(<err)" 'are one inode'
	assert_eq "the header of the first" "$address" "$(header_of a)"
	finish
	assert_eq "the header of the second" "$address" "$(header_of b)"
	in_container a go 10
}

# header_of NAME: the first 16 bytes of its program as it has them in memory.
header_of() {
	local start
	start=$(awk '$6 ~ /contained$/ && $3 == "00000000" { print substr($1, 1, index($1, "-") - 1); exit }' "/proc/${PID_OF[$1]}/maps")
	dd if="/proc/${PID_OF[$1]}/mem" bs=16 skip=$((16#$start / 16)) count=1 status=none | od -An -tx1
}
