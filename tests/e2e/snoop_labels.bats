#!/usr/bin/env bats
# Labels of processes: container, pod, cgroup and unit, by the paths of cgroups that the tests make as the runtimes do. Whatever rows
# are split by, their sums are those of the whole, at every scrape.
# shellcheck disable=SC2030,SC2031  # bats runs each test in a subshell
load common
load measure
load snoop

ID1=1111111111aa0000000000000000000000000000000000000000000000000000
ID2=2222222222bb0000000000000000000000000000000000000000000000000000
POD=2f54a3f0-1c6b-4f6e-9a3f-0123456789ab

setup() {
	e2e_setup
	declare -gA IN=()
	not_in_guest
	need_command curl
	need_cgroups
	shell_for tagged
	cp "$FIXTURES/runner" tagged
	PAGE_PORT=$(free_port)
}

teardown() {
	local name
	for name in "${!IN[@]}"; do leave "$name"; done
	e2e_teardown
	[[ -z ${CGROUPS:-} ]] || find "$CGROUPS" -depth -type d -exec rmdir {} +
}

need_cgroups() {
	local root
	root=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
	[[ -n $root ]] || skip "no cgroup2 file system is mounted here"
	CGROUPS=$(mktemp -d "$root/fsc-e2e.XXXXXX" 2>/dev/null) || {
		CGROUPS=
		skip "$root is not writable here"
	}
	TOP=${CGROUPS#"$root"}
}

# ---- processes in cgroups ----

# shell_for NAME: $TMP/sh/NAME, a shell that is a target because of its name, so that what it becomes is one from its first call on.
shell_for() {
	mkdir -p sh
	cp "$BASH" "sh/$1"
}

# enter NAME CGROUP: starts a runner there, which is called NAME from now on.
enter() {
	local dir=$TMP/in/$1 word
	mkdir -p "$dir" "$CGROUPS/$2"
	mkfifo "$dir/to" "$dir/from"
	# shellcheck disable=SC2016 # expands inside
	"$TMP/sh/tagged" -c 'echo $$ >"$1/cgroup.procs" && exec "$2" with "a b"' sh "$CGROUPS/$2" "$TMP/tagged" \
		0<>"$dir/to" 1<>"$dir/from" 2>"$dir/err" 3>&- &
	IN[$1]=$!
	read -r -t 60 word _ <"$dir/from" || fail "$1 did not start: $(<"$dir/err")"
	assert_eq "first word of $1" runner "$word"
}

# tell NAME COMMAND...: as ask.
tell() {
	local word
	printf '%s\n' "${*:2}" >"$TMP/in/$1/to"
	read -r -t 60 word _ <"$TMP/in/$1/from" || fail "$1 is gone, at: ${*:2}"
	assert_eq "answer to ${*:2}" "done" "$word"
}

leave() {
	kill -KILL "${IN[$1]}" 2>/dev/null || true
	wait "${IN[$1]}" 2>/dev/null || true
	rm -rf "$TMP/in/$1"
	unset "IN[$1]"
}

# id N: a container's; short N: what is shown of it.
id() { printf '%012x%052x' "$1" 0; }
short() { printf '%012x' "$1"; }

# ---- the page ----

# watch MORE...: the configuration: work() of all processes called "tagged".
watch() {
	configure '"custom_sym": {"work": {"symbol": "work", "library": "'"$TMP"'/tagged"}}, "targets": {"names": ["tagged"]}'"${1:+, $1}"
}

COUNT=funcscope_call_duration_seconds_count

# adds_up: on a new page, the series are together what was kept, and no less than on the page before; and so is each that is on both.
adds_up() {
	local sum kept
	[[ ! -e page ]] || cp page before
	page text/plain
	[[ ! -e before ]] || awk -v c="$COUNT" 'index($0, c "{") != 1 { next } NR == FNR { was[$1] = $2; next }
		$1 in was && $2 < was[$1] { print; bad = 1 } END { exit bad }' before page || fail "a series went back; before: $(grep "$COUNT" before)"
	read -r sum kept < <(awk -v c="$COUNT" 'index($0, c "{") == 1 { sum += $NF } /^funcscope_calls_kept_total/ { kept = $NF }
		END { printf "%d %d\n", sum, kept }' "$TMP/page")
	assert_eq "sum of the series" "$kept" "$sum"
	((sum >= ${SUM:-0})) || fail "the sum of the series went from $SUM to $sum"
	SUM=$sum
}

# sum_is N: adds_up, and to N.
sum_is() {
	adds_up
	[[ $SUM == "$1" ]]
}

# series: how many there are.
series() {
	grep -c "^$COUNT{" "$TMP/page" || true
}

@test "labels: docker, a pod, a unit and none, on the page, in reports, by process and in events" {
	watch '"process_labels": ["unit", "container", "pod", "cgroup"], "process_fields": ["started", "exe", "cmdline"],
		"prometheus": {"listen": ":'"$PAGE_PORT"'"}, "sample": 1'
	enter early "docker/$ID1"
	snoop
	enter pod "kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod${POD//-/_}.slice/cri-containerd-$ID2.scope"
	enter again "docker/$ID1"
	enter unit "system.slice/nginx.service"
	enter none "plain"
	subscribe
	tell early go 101
	tell pod go 102
	tell again go 103
	tell unit go 104
	tell none go 105
	eventually sum_is 515
	assert_eq "of docker" 204 "$(on_page "$COUNT" "container=\"${ID1:0:12}\",pod=\"\",cgroup=\"$TOP/docker/$ID1\",unit=\"\"")"
	assert_eq "of the pod" 102 "$(on_page "$COUNT" "container=\"${ID2:0:12}\",pod=\"$POD\",cgroup=")"
	assert_eq "of the unit" 104 "$(on_page "$COUNT" 'container="",pod="",cgroup="'"$TOP"'/system.slice/nginx.service",unit="nginx.service"')"
	assert_eq "of none" 105 "$(on_page "$COUNT" "cgroup=\"$TOP/plain\",unit=\"\"")"
	assert_eq "series" 4 "$(series)"
	eventually events_are return 515
	assert_eq "events of docker" 204 "$(grep '"event":"return"' events | grep -c "\"container\":\"${ID1:0:12}\"")"
	ctl stats --by-process
	assert_eq "processes" 5 "$(grep -c '"type":"latency"' answer)"
	assert_eq "one of them" "$TMP/tagged" "$(jq -r 'select(.type == "latency" and .unit == "nginx.service" and .pid == '"${IN[unit]}"') | .exe' answer)"
	assert_eq "its words" "$TMP/tagged with a b" "$(jq -r 'select(.unit == "nginx.service") | .cmdline' answer)"
	assert_match "its start" "$(jq -r 'select(.unit == "nginx.service") | .started' answer)" '^20[0-9-]*T[0-9:]*\.[0-9]*Z$'
	ended
	assert_timed work 204 "container=${ID1:0:12}"
	assert_timed work 102 "pod=$POD" "container=${ID2:0:12}"
	assert_timed work 104 unit=nginx.service pod= container=
	assert_timed work 515
	assert_eq "rows" 4 "$(rows type=latency | wc -l)"
	refute_match "rows by labels" "$(rows type=latency)" '"(exe|pid)"'
}

@test "labels: the text report has them as columns" {
	configure '"custom_sym": {"work": {"symbol": "work", "library": "'"$TMP"'/tagged"}}, "targets": {"names": ["tagged"]},
		"process_labels": ["container", "unit"]'
	arm_as snoop -c snoop.json
	enter a "docker/$ID1"
	enter b "system.slice/web.service"
	tell a go 11
	tell b go 12
	eventually counted_is work 23
	finish
	grep -qE '^GROUP +CONTAINER +UNIT +FUNCTION +CALLS' out || fail "$(<out)"
	grep -qE "^custom +${ID1:0:12} +- +work +11 " out || fail "$(<out)"
	grep -qE '^custom +- +web.service +work +12 ' out || fail "$(<out)"
}

@test "labels: containers restart: their rows end as others, a unit that restarts goes on, no sum shrinks" {
	local i
	watch '"process_labels": ["container", "unit"], "keep": {"label_sets": 5, "ended": "0s"}, "prometheus": {"listen": ":'"$PAGE_PORT"'"}'
	snoop
	for ((i = 1; i <= 14; i++)); do
		enter c "docker/$(id "$i")"
		tell c go $((100 + i))
		eventually sum_is $((i * 300 + i * (i + 1) / 2 - 200))
		assert_eq "of container $i" $((100 + i)) "$(on_page "$COUNT" "container=\"$(short "$i")\"")"
		leave c
		((i < 14)) || break
		enter u system.slice/a.service
		tell u go 200
		eventually sum_is $((i * 300 + i * (i + 1) / 2))
		assert_eq "of the unit" $((i * 200)) "$(on_page "$COUNT" 'unit="a.service"')"
		leave u
		eventually monitor_says processes 0
		adds_up
		(($(series) <= 6)) || fail "$(series) series: $(<page)"
	done
	eventually monitor_says processes 0
	adds_up
	(($(on_page "$COUNT" 'container="other",unit="other"') > 0)) || fail "nothing was folded: $(<page)"
	(($(on_page funcscope_label_sets_folded_total) >= 10 && $(on_page funcscope_label_sets) <= 5)) || fail "$(<page)"
	ended
	assert_timed work $((14 * 100 + 13 * 200 + 105))
	assert_timed work $((13 * 200)) unit=a.service
}

@test "labels: more containers at once than the limit, and than series" {
	local i
	watch '"process_labels": ["container"], "keep": {"label_sets": 4}, "prometheus": {"listen": ":'"$PAGE_PORT"'", "max_series": 3}'
	snoop
	for i in 1 2 3 4 5 6; do
		enter "c$i" "docker/$(id "$i")"
		tell "c$i" go $((10 * i))
		eventually sum_is $((5 * i * (i + 1)))
		(($(grep "^$COUNT{" page | grep -vc 'overflow="true"') <= 3)) || fail "more series than the limit: $(<page)"
	done
	for i in 1 2 3 4 5 6; do tell "c$i" go 1; done
	eventually sum_is 216
	for i in 1 2 3; do assert_eq "of $i" $((10 * i + 1)) "$(on_page "$COUNT" "container=\"$(short "$i")\"")"; done
	assert_eq "of the rest" $((41 + 51 + 61)) "$(on_page "$COUNT" 'overflow="true"')"
	ended
	for i in 1 2 3 4; do assert_timed work $((10 * i + 1)) "container=$(short "$i")"; done
	assert_timed work $((51 + 61)) container=other
	assert_eq "rows" 5 "$(rows type=latency | wc -l)"
}

@test "labels: short processes: the labels of one that exited before they were read are empty, and the sum is exact" {
	local i
	shell_for shortly
	cp "$FIXTURES/calls" shortly
	mkdir -p "$CGROUPS/docker/$ID1"
	configure '"custom_sym": {"work": {"symbol": "work", "library": "'"$TMP"'/shortly"}}, "targets": {"names": ["shortly"]},
		"process_labels": ["container", "cgroup"], "prometheus": {"listen": ":'"$PAGE_PORT"'", "pid_label": true}'
	snoop
	for ((i = 1; i <= 40; i++)); do
		# shellcheck disable=SC2016 # expands inside
		"$TMP/sh/shortly" -c 'echo $$ >"$1/cgroup.procs" && exec "$2" 11' sh "$CGROUPS/docker/$ID1" "$TMP/shortly" >truth 3>&-
		((i % 5)) || adds_up
	done
	eventually monitor_says processes 0
	eventually sum_is 440
	ended
	assert_timed work 440
	assert_eq "other labels" 0 "$(rows type=latency | grep -v '"container":""' | grep -vc "\"container\":\"${ID1:0:12}\"")"
}

@test "labels: a process that moves before its first call has the new ones, one that moves later keeps its own" {
	watch '"process_labels": ["unit"], "prometheus": {"listen": ":'"$PAGE_PORT"'"}'
	snoop
	mkdir -p "$CGROUPS/b.service"
	enter one a.service
	enter two a.service
	eventually monitor_says processes 2
	echo "${IN[two]}" >"$CGROUPS/b.service/cgroup.procs"
	tell one go 11
	tell two go 12
	eventually sum_is 23
	assert_eq "of a" 11 "$(on_page "$COUNT" 'unit="a.service"')"
	assert_eq "of b" 12 "$(on_page "$COUNT" 'unit="b.service"')"
	echo "${IN[one]}" >"$CGROUPS/b.service/cgroup.procs"
	tell one go 100
	eventually sum_is 123
	assert_eq "of a" 111 "$(on_page "$COUNT" 'unit="a.service"')"
	ended
	assert_timed work 111 unit=a.service
	assert_timed work 12 unit=b.service
}

@test "labels: reload: labels come, change and go; every call stays in the sum, and in one report" {
	watch '"report": {"every": "0"}, "prometheus": {"listen": ":'"$PAGE_PORT"'"}'
	snoop
	enter one "docker/$ID1"
	enter two system.slice/a.service
	tell one go 11
	tell two go 12
	eventually sum_is 23
	assert_eq "series" 1 "$(series)"
	watch '"process_labels": ["container"], "prometheus": {"listen": ":'"$PAGE_PORT"'"}'
	ctl reload
	tell one go 100
	eventually sum_is 123
	assert_eq "of the container" 111 "$(on_page "$COUNT" "container=\"${ID1:0:12}\"")"
	assert_eq "of none" 12 "$(on_page "$COUNT" 'container=""')"
	leave one
	eventually monitor_says processes 1
	adds_up
	watch '"process_labels": ["unit", "pod"], "prometheus": {"listen": ":'"$PAGE_PORT"'"}'
	ctl reload
	tell two go 1000
	eventually sum_is 1123
	assert_eq "of the unit" 1012 "$(on_page "$COUNT" 'pod="",unit="a.service"')"
	assert_eq "of none" 111 "$(on_page "$COUNT" 'pod="",unit=""')"
	watch '"prometheus": {"listen": ":'"$PAGE_PORT"'"}'
	ctl reload
	adds_up
	assert_eq "series" 1 "$(series)"
	ended
	assert_timed work 1123
	assert_eq "rows" 1 "$(rows type=latency | wc -l)"
}

# intervals_are "SUM WHOLE": what reports of intervals say together, and the last one.
intervals_are() {
	[[ $(jq -r -s 'reduce .[] as $r ({sum: [0, 0]}; if $r.type == "report" then .to = (if $r.whole then 1 else 0 end)
		elif $r.type == "latency" then .sum[.to] += $r.count else . end) | "\(.sum[0]) \(.sum[1])"' "$TMP/out") == "$1" ]]
}

@test "labels: reports of intervals add up to the whole while labels change and containers restart" {
	local i
	watch '"report": {"every": "100ms"}, "process_labels": ["container"], "keep": {"label_sets": 3, "ended": "0s"}'
	snoop
	for i in 1 2 3 4 5 6; do
		enter c "docker/$(id "$i")"
		tell c go $((100 + i))
		eventually counted_is work $((i * 100 + i * (i + 1) / 2))
		leave c
		[[ $i != 3 ]] || watch '"report": {"every": "100ms"}, "process_labels": ["unit", "container"], "keep": {"label_sets": 3, "ended": "0s"}'
		[[ $i != 3 ]] || ctl reload
		[[ $i != 5 ]] || watch '"report": {"every": "100ms", "by_process": true}, "process_labels": ["container"], "keep": {"label_sets": 3}'
		[[ $i != 5 ]] || ctl reload
		eventually monitor_says processes 0
	done
	eventually intervals_are "621 0"
	finish
	intervals_are "621 621" || fail "$(<out)"
}

@test "labels: names of cgroups are data" {
	local odd=$'we"i\\rd\e[1m\xff.service'
	watch '"process_labels": ["unit"], "prometheus": {"listen": ":'"$PAGE_PORT"'"}'
	snoop
	enter odd "$odd"
	tell odd go 7
	eventually sum_is 7
	grep "^$COUNT{" page | grep -qF 'unit="we\"i\\rd\\x1b[1m\\xff.service"} 7' || fail "$(grep "^$COUNT" page)"
	no_control_bytes page
	ended
	no_control_bytes out
	assert_eq "in the report" 7 "$(jq 'select(.type == "latency" and (.unit | startswith("we\"i\\rd\u001b"))) | .count' out)"
}

@test "labels: what is wrong with them is said" {
	local text
	for text in '"process_labels": ["containr"]|unknown item of "process_labels" "containr"; did you mean .container' \
		'"process_labels": "pod"|must be a list of "container", "pod", "cgroup", "unit", not "pod"' \
		'"process_labels": ["pod", "pod"]|"pod" is listed twice in "process_labels"' \
		'"process_fields": ["pod"]|unknown item of "process_fields" "pod"' \
		'"labels": {"pod": "x"}, "process_labels": ["pod"]|the label "pod" is also in "process_labels"' \
		'"keep": {"label_sets": 0}|must be from 1 to 100000, not 0'; do
		watch "${text%%|*}"
		fs_error 1 "${text#*|}" snoop --check snoop.json
	done
}
