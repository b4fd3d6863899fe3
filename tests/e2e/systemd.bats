# The monitor as a service of a systemd that booted the machine, with the unit of deploy/systemd as it is: started, reloaded, killed
# and stopped by systemctl, its calls counted exactly. The targets are the fixture runner as a service of another user, and in
# containers of podman. Only in guests (`make test-vm-systemd`): units and programs are installed where they belong.
#
# Waiting is for a condition, with a deadline; an emulated guest takes seconds for what takes a machine a moment. Calls are shown when
# it is certain that their process is a target: without perf events (kernel.perf_event_paranoid of Debian) that takes a moment more.
load common
load measure
load snoop

UNIT=funcscope-snoop
CONFIG=/etc/funcscope/snoop.json

setup() {
	[[ -n ${IN_VM:-} && -d /run/systemd/system ]] || skip "needs a guest that boots systemd: make test-vm-systemd"
	e2e_setup
	install -D -m 755 "$FUNCSCOPE" /usr/local/bin/funcscope
	install -D -m 644 "$E2E_TOP/deploy/systemd/$UNIT.service" "/etc/systemd/system/$UNIT.service"
	install_drop_in
	systemctl daemon-reload
	BEGUN=$(date +%s)
}

teardown() {
	[[ -n ${BEGUN:-} ]] || return 0
	systemctl stop "$UNIT" worker 2>/dev/null || true
	systemctl reset-failed "$UNIT" 2>/dev/null || true
	rm -rf "/etc/systemd/system/$UNIT.service.d" /run/worker
	e2e_teardown
}

# Where there is no uprobe.multi, as the unit says.
install_drop_in() {
	[[ $(doctor_rung "user functions") == *multi* ]] || install -D -m 644 -t "/etc/systemd/system/$UNIT.service.d" \
		"$E2E_TOP/deploy/systemd/linux-before-6.6.conf"
}

# ---- the monitor ----

# The one of the unit is found without being told where, as root's is.
ctl() {
	timeout 60 funcscope ctl "$@" >"$TMP/answer" 2>"$TMP/ctl.err" 3>&- </dev/null || fail "funcscope ctl $*: $(<"$TMP/ctl.err")"
}

# configure NAME...: the configuration of deploy/systemd, with work of the programs of these names as what it watches. Without the
# budget: a worker does nothing but call.
configure() {
	local names
	printf -v names '"%s", ' "$@"
	install -d /etc/funcscope
	sed -e 's/"presets": .*/"custom_sym": {"work": "work"},/' -e '/"max_overhead"/d' -e "s/\"names\": .*\]/\"names\": [${names%, }]/" \
		"$E2E_TOP/deploy/systemd/snoop.json" >"$CONFIG.new"
	assert_match "the configuration" "$(<"$CONFIG.new")" '"custom_sym".*"names": \["'"$1"'"'
	mv "$CONFIG.new" "$CONFIG"
}

# serve [NAME...]: starts the unit, and returns when its monitor has the function.
serve() {
	configure "$@"
	systemctl start "$UNIT"
	assert_eq "state of the unit" active "$(systemctl is-active "$UNIT")"
	patiently watched work
}

# patiently COMMAND...: until it succeeds, up to a minute.
patiently() {
	local end=$((SECONDS + 60))
	until "$@" 2>/dev/null; do
		((SECONDS < end)) || fail "not within a minute: $*; $(said | tail -n 20)"
		sleep 0.2
	done
}

# shown PROPERTY: what systemd says of the unit.
shown() {
	systemctl show -p "$1" --value "$UNIT"
}

# said: what the unit has written to the journal since the test began.
said() {
	journalctl --sync
	journalctl -u "$UNIT" --since "@$BEGUN" -o cat --no-pager
}

# stopped: the unit is stopped, by its own will and in time.
stopped() {
	systemctl stop "$UNIT"
	assert_eq "state of the unit" inactive "$(systemctl is-active "$UNIT")"
	assert_eq "result" success "$(shown Result)"
	assert_eq "exit status" 0 "$(shown ExecMainStatus)"
	[[ ! -e /run/funcscope ]] || fail "still there: $(ls -la /run/funcscope)"
}

# ---- a service to watch ----

# worker: the runner as a service of another user, asked as start_runner's is.
worker() {
	install -m 755 "$FIXTURES/runner-static" /usr/local/bin/worker
	mkdir -p /run/worker
	mkfifo -m 666 /run/worker/to /run/worker/from
	cat >/etc/systemd/system/worker.service <<-'END'
		[Service]
		User=nobody
		ExecStart=/bin/bash -c 'exec /usr/local/bin/worker 0<>/run/worker/to 1<>/run/worker/from'
	END
	systemctl daemon-reload
	systemctl start worker
	exec 8<>/run/worker/to 9<>/run/worker/from
	read -r -t 60 WORD _ <&9 || fail "the worker did not start: $(systemctl status --no-pager worker)"
	assert_eq "first word" runner "$WORD"
}

# ---- the unit ----

# bats test_tags=systemd
@test "systemd: the unit counts the calls of a service, with no more rights than it says, and stops cleanly" {
	local pid caps=000000c000080004
	worker
	serve worker
	ask go 1000
	patiently counted_is work 1000
	pid=$(shown MainPID)
	[[ ! -e /etc/systemd/system/$UNIT.service.d ]] || caps=000000c000280004
	assert_eq "capabilities" "$caps" "$(sed -n 's/^CapEff:\t//p' "/proc/$pid/status")"
	assert_eq "filter of system calls" 2 "$(sed -n 's/^Seccomp:\t//p' "/proc/$pid/status")"
	refute_match "user" "$(sed -n 's/^Uid:\t//p' "/proc/$pid/status")" '^0[^0-9]'
	ask go 500
	stopped
	assert_match "the journal" "$(said)" 'watching 1 function'
	assert_match "the journal" "$(said)" 'seen 1500 = kept 1500'
	refute_match "the journal" "$(said)" 'ssertion|rror'
	refute_match "the kernel's" "$(journalctl -k --since "@$BEGUN" -o cat --no-pager)" 'fork rejected'
	ask go 10
	assert_eq "the worker goes on" 1510 "${ANSWER%% *}"
}

# bats test_tags=systemd
@test "systemd: reload, with the same configuration, another one and a wrong one" {
	worker
	configure other
	systemctl start "$UNIT"
	patiently monitor_says config_ok true
	ask go 100
	systemctl reload "$UNIT"
	patiently reloaded 1
	configure worker
	systemctl reload "$UNIT"
	patiently reloaded 2
	patiently watched work
	ask go 200
	patiently counted_is work 200
	echo '{ "targets": 1 }' >"$CONFIG"
	systemctl reload "$UNIT"
	patiently monitor_says config_ok false
	ask go 30
	patiently counted_is work 230
	stopped
	assert_match "the journal" "$(said)" "$CONFIG:1"
}

# bats test_tags=systemd
@test "systemd: killed, it is started again, and so are two of its kind one after another" {
	local n
	worker
	serve worker
	ask go 100
	for n in 1 2; do
		systemctl kill -s KILL "$UNIT"
		patiently restarts_are "$n"
		patiently watched work
		ask go "${n}000"
		patiently counted_is work "${n}000"
	done
	stopped
}

restarts_are() {
	[[ $(shown NRestarts) == "$1" && $(systemctl is-active "$UNIT") == active ]]
}

# bats test_tags=systemd
@test "systemd: what a kernel refuses without CAP_SYS_ADMIN is said in one sentence" {
	[[ -e /etc/systemd/system/$UNIT.service.d ]] || skip "this kernel does not want it"
	rm -r "/etc/systemd/system/$UNIT.service.d"
	systemctl daemon-reload
	worker
	configure worker
	systemctl start "$UNIT"
	patiently failed_once
	assert_match "the journal" "$(said)" 'may not attach to work; CAP_SYS_ADMIN is missing'
	refute_match "the journal" "$(said)" 'watching'
	ask go 10
}

failed_once() {
	(($(shown NRestarts) > 0))
}

# ---- podman ----

# container NAME: one of the image, with its pipes in $TMP/NAME; its pid outside is in PID_OF[NAME].
container() {
	local word
	mkdir -p "$TMP/$1"
	mkfifo "$TMP/$1/to" "$TMP/$1/from"
	podman run -d --name "$1" --network none -v "$TMP/$1:/io" localhost/contained /bin/busybox sh -c \
		'exec /bin/contained 0<>/io/to 1<>/io/from' >"$TMP/$1/id" 2>"$TMP/$1/err" 3>&- || fail "podman run: $(<"$TMP/$1/err")"
	read -r -t 60 word _ <>"$TMP/$1/from" || fail "container $1 does not speak: $(podman logs "$1" 2>&1)"
	assert_eq "first word of $1" runner "$word"
	PID_OF[$1]=$(podman inspect -f '{{.State.Pid}}' "$1")
}

# in_container NAME COMMAND...: as ask.
in_container() {
	printf '%s\n' "${*:2}" >"$TMP/$1/to"
	read -r -t 60 WORD _ <>"$TMP/$1/from" || fail "container $1 is gone, at: ${*:2}"
	assert_eq "answer to ${*:2}" "done" "$WORD"
}

image() {
	command -v podman >/dev/null || skip "podman is not installed"
	mkdir -p image/bin image/io
	cp "$FIXTURES/runner-static" image/bin/contained
	cp "$(command -v busybox)" image/bin/busybox
	podman rm -f -a >/dev/null 2>&1 3>&- || true
	tar -C image -c . | podman import - localhost/contained >imported 2>&1 3>&- || fail "podman import: $(<imported)"
}

# bats test_tags=systemd
@test "podman: three containers of one image, before the monitor, beside it and after one is gone" {
	declare -gA PID_OF=()
	image
	container a
	container b
	serve contained
	in_container a go 1000
	in_container b go 200
	patiently counted_is work 1200
	podman rm -f -t 0 a >/dev/null 3>&-
	container c
	patiently targets_are 2
	in_container b go 30
	in_container c go 4
	patiently counted_is work 1234
	ctl list
	assert_eq "places" 1 "$(field places "$(grep '"function":"work"' answer)")"
	stopped
	assert_match "the journal" "$(said)" 'seen 1234 = kept 1234'
	podman rm -f -t 0 -a >/dev/null 3>&-
}

targets_are() {
	[[ $(monitor processes) == "$1" ]]
}

# bats test_tags=systemd
@test "podman: count and time by the pids of three containers" {
	declare -gA PID_OF=()
	image
	container a
	container b
	container c
	arm -f json -p "${PID_OF[a]},${PID_OF[b]},${PID_OF[c]}" --by pid :work
	in_container a go 1000
	in_container b go 200
	in_container c go 30
	finish
	books_close
	assert_eq "of the first" 1000 "$(calls function=work "pid=${PID_OF[a]}")"
	assert_eq "of the second" 200 "$(calls function=work "pid=${PID_OF[b]}")"
	assert_eq "of the third" 30 "$(calls function=work "pid=${PID_OF[c]}")"
	assert_eq "seen" 1230 "$(summary seen)"
	arm_as time -f json -p "${PID_OF[a]},${PID_OF[b]},${PID_OF[c]}" :work
	in_container a go 100
	in_container b go 20
	in_container c go 3
	finish
	closed latency
	assert_timed work 123 binary=/bin/contained
	podman rm -f -t 0 -a >/dev/null 3>&-
}
