# The monitor's page for Prometheus: by which ways it can be read, and by whom.
load common
load measure
load snoop

setup() {
	e2e_setup
	not_in_guest
	need_command curl
}
teardown() { e2e_teardown; }

readonly IDLE='"custom_sym": {"work": "work"}, "targets": {"names": ["no-such"]}'

# scrape ARGS...: the page, by curl; its status is in CODE, 000 if there was no answer.
scrape() {
	CODE=$(curl -sS -m 20 -o "$TMP/page" -w '%{http_code}' "$@" 2>"$TMP/curl.err" 3>&-) || true
}

# scraped ARGS...: the same, and it must have metrics.
scraped() {
	scrape "$@"
	assert_eq "status ($(<"$TMP/curl.err"))" 200 "$CODE"
	grep -q '^funcscope_' "$TMP/page" || fail "no metrics: $(head -c 300 "$TMP/page")"
}

@test "page: a Unix socket for a group; one in use is refused, a stale one is replaced, and it is gone at the end" {
	configure "$IDLE"', "prometheus": {"listen": "unix:'"$TMP"'/web", "socket_group": "65534"}'
	snoop
	assert_eq "mode and group" "660 65534" "$(stat -c '%a %g' web)"
	scraped --unix-socket web http://any.name/metrics
	sed "s|$TMP/sock|$TMP/other|" snoop.json >second.json
	fs snoop -c second.json -d 1
	((status == 1)) || fail "exit status $status"
	assert_match "in use" "$(<err)" "cannot listen on '$TMP/web'.*use another path"
	scraped --unix-socket web http://any.name/metrics
	kill -KILL "$FS"
	wait "$FS" || true
	[[ -S web ]] || fail "a killed monitor leaves its socket"
	snoop
	scraped --unix-socket web http://any.name/metrics
	ended
	[[ ! -e web ]] || fail "the socket is still there"
}
