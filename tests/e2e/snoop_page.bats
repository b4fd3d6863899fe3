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
	CODE=$(curl -sS --noproxy '*' -m 20 -o "$TMP/page" -w '%{http_code}' "$@" 2>"$TMP/curl.err" 3>&-) || true
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

# ---- TLS and tokens ----

# authority NAME: NAME.pem and NAME.key, which can sign.
authority() {
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj "/CN=$1" \
		-keyout "$1.key" -out "$1.pem" 2>/dev/null
}

# certificate NAME AUTHORITY: NAME.pem for localhost, signed; a new one, if there is one already.
certificate() {
	[[ -e $1.key ]] || openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=$1" \
		-keyout "$1.key" -out "$1.csr" 2>/dev/null
	openssl x509 -req -in "$1.csr" -CA "$2.pem" -CAkey "$2.key" -CAcreateserial -days 2 -out "$1.new" \
		-extfile <(echo subjectAltName=DNS:localhost) 2>/dev/null
	mv "$1.new" "$1.pem"
}

# needs_tls: a certificate of an authority for the page, and the address.
needs_tls() {
	need_command openssl
	need_command python3
	authority ca
	certificate web ca
	PAGE_PORT=$(free_port)
	PAGE_URL=https://localhost:$PAGE_PORT/metrics
	TLS='"listen": "127.0.0.1:'"$PAGE_PORT"'", "cert_file": "'"$TMP"'/web.pem", "key_file": "'"$TMP"'/web.key"'
}

# refused ARGS...: no answer but that of TLS.
refused() {
	scrape "$@"
	assert_eq "status ($(<"$TMP/curl.err"))" 000 "$CODE"
}

# serial: of the certificate that the page shows.
serial() {
	openssl s_client -connect "localhost:$PAGE_PORT" </dev/null 2>/dev/null 3>&- | openssl x509 -noout -serial
}

@test "page: TLS: a client that trusts the authority is answered, no other and not without TLS" {
	needs_tls
	authority stranger
	configure "$IDLE"', "prometheus": {'"$TLS"'}'
	snoop
	scraped --cacert ca.pem "$PAGE_URL"
	scraped --cacert ca.pem --tls-max 1.2 "$PAGE_URL"
	refused --cacert stranger.pem "$PAGE_URL"
	refused "http://localhost:$PAGE_PORT/metrics"
	refused --cacert ca.pem --tls-max 1.1 --ciphers DEFAULT:@SECLEVEL=0 "$PAGE_URL"
	scrape --cacert ca.pem "$PAGE_URL" "$PAGE_URL" -o second
	assert_eq "two requests on one connection" 200200 "$CODE"
	for _ in {1..20}; do scraped --cacert ca.pem "$PAGE_URL"; done
	ended
}

@test "page: client certificates: signed by the authority, or no handshake" {
	needs_tls
	authority stranger
	certificate client ca
	certificate other stranger
	configure "$IDLE"', "prometheus": {'"$TLS"', "client_ca_file": "'"$TMP"'/ca.pem"}'
	snoop
	for version in 1.2 1.3; do
		scraped --tls-max "$version" --cacert ca.pem --cert client.pem --key client.key "$PAGE_URL"
		refused --tls-max "$version" --cacert ca.pem "$PAGE_URL"
		refused --tls-max "$version" --cacert ca.pem --cert other.pem --key other.key "$PAGE_URL"
	done
	ended
}

@test "page: a token: 401 without it, and how many is counted" {
	needs_tls
	openssl rand -hex 32 >token
	configure "$IDLE"', "prometheus": {'"$TLS"', "token_file": "'"$TMP"'/token"}'
	snoop
	scraped --cacert ca.pem -H "Authorization: Bearer $(<token)" "$PAGE_URL"
	for header in 'X: y' 'Authorization: Bearer wrong' "Authorization: Basic $(<token)" "Authorization: Bearer $(<token)0"; do
		scrape -D headers --cacert ca.pem -H "$header" "$PAGE_URL"
		assert_eq "status with $header" 401 "$CODE"
		grep -qi '^WWW-Authenticate: Bearer realm="funcscope"' headers || fail "$(<headers)"
		assert_eq "metrics" 0 "$(grep -c funcscope_ page || true)"
	done
	assert_eq "counted" 4 "$(monitor page_refused)"
	! grep -rqF "$(<token)" out err snoop.json || fail "the token is shown"
	ended
}

@test "page: reload: a renewed certificate and token are taken, broken ones leave the old in force" {
	local first second
	needs_tls
	echo 0123456789abcdef >token
	configure "$IDLE"', "prometheus": {'"$TLS"', "token_file": "'"$TMP"'/token"}'
	snoop
	first=$(serial)
	certificate web ca
	assert_eq "not before the reload" "$first" "$(serial)"
	ctl reload
	second=$(serial)
	[[ $second != "$first" && $second == serial=* ]] || fail "$first is still there: $second"
	scraped --cacert ca.pem -H 'Authorization: Bearer 0123456789abcdef' "$PAGE_URL"
	mv web.pem good.pem
	head -c 100 good.pem >web.pem
	ctl_error "cannot use the certificate '$TMP/web.pem'" reload
	authority stranger
	cp stranger.pem web.pem
	ctl_error "cannot use the certificate '$TMP/web.pem' with the key" reload
	rm web.pem
	kill -HUP "$FS"
	eventually grep -q "warning: cannot open '$TMP/web.pem'.*; the previous configuration stays in force" err
	assert_eq "the old one" "$second" "$(serial)"
	assert_eq "failed" 3 "$(monitor failed_reloads)"
	mv good.pem web.pem
	echo fedcba9876543210 >token
	ctl reload
	scrape --cacert ca.pem -H 'Authorization: Bearer 0123456789abcdef' "$PAGE_URL"
	assert_eq "the old token" 401 "$CODE"
	scraped --cacert ca.pem -H 'Authorization: Bearer fedcba9876543210' "$PAGE_URL"
	configure "$IDLE"', "prometheus": {"listen": "127.0.0.1:'"$PAGE_PORT"'"}'
	eventually monitor_says reloads 3
	scraped "http://localhost:$PAGE_PORT/metrics"
	ended
}

# prometheus_listens: the port of its API is in API.
prometheus_listens() {
	API=$(sed -n 's/.*msg="Listening on".*address=127\.0\.0\.1:\([0-9]*\).*/\1/p' prometheus.log)
	[[ $API ]]
}

# start_prometheus: scrapes the page as docs/fleet.md says.
start_prometheus() {
	cat >prometheus.yml <<-END
		global: {scrape_interval: 1s, scrape_timeout: 1s}
		scrape_configs:
		  - job_name: funcscope
		    scheme: https
		    authorization: { credentials_file: token }
		    tls_config: { ca_file: ca.pem, cert_file: prometheus.pem, key_file: prometheus.key }
		    static_configs: [{targets: ["localhost:$PAGE_PORT"]}]
	END
	env -u http_proxy -u https_proxy -u HTTP_PROXY -u HTTPS_PROXY prometheus --config.file=prometheus.yml \
		--storage.tsdb.path=data --web.listen-address=127.0.0.1:0 >prometheus.log 2>&1 3>&- </dev/null &
	PIDS+=("$!")
	slowly prometheus_listens
}

# slowly COMMAND...: becomes true within a minute.
slowly() {
	local end=$((SECONDS + 60))
	until "$@"; do
		((SECONDS < end)) || fail "not within a minute: $*; $(tail -n 5 prometheus.log)"
		sleep 0.1
	done
}

# prometheus_has EXPRESSION: it is true of what was scraped.
prometheus_has() {
	curl -sS --noproxy '*' -m 10 --get "http://127.0.0.1:$API/api/v1/query" --data-urlencode "query=$1" 3>&- |
		jq -e '.data.result | length > 0' >/dev/null
}

@test "page: Prometheus scrapes it with a token and a certificate, before and after the page's certificate is renewed" {
	need_command prometheus
	need_command jq
	needs_tls
	certificate prometheus ca
	openssl rand -hex 32 >token
	configure "$IDLE"', "prometheus": {'"$TLS"', "client_ca_file": "'"$TMP"'/ca.pem", "token_file": "'"$TMP"'/token"}'
	snoop
	start_prometheus
	slowly prometheus_has 'funcscope_config_reloads_total{result="ok"} == 0'
	certificate web ca
	ctl reload
	slowly prometheus_has 'funcscope_config_reloads_total{result="ok"} == 1'
	assert_eq "refused" 0 "$(monitor page_refused)"
	ended
}

descriptors() {
	local all=("/proc/$FS/fd/"*)
	echo "${#all[@]}"
}

@test "page: garbage and half handshakes on the TLS port do no harm, and leave no descriptor" {
	local before
	needs_tls
	configure "$IDLE"', "prometheus": {'"$TLS"'}'
	snoop
	scraped --cacert ca.pem "$PAGE_URL"
	before=$(descriptors)
	python3 - "$PAGE_PORT" 3>&- <<-'PY'
		import random, socket, ssl, struct, sys
		port, rng = int(sys.argv[1]), random.Random(1)

		def hello():
		    context = ssl.create_default_context()
		    out = ssl.MemoryBIO()
		    tls = context.wrap_bio(ssl.MemoryBIO(), out, server_hostname="localhost")
		    try:
		        tls.do_handshake()
		    except ssl.SSLWantReadError:
		        pass
		    return out.read()

		def send(data, reset):
		    s = socket.create_connection(("127.0.0.1", port))
		    if reset:
		        s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
		    try:
		        s.sendall(data)
		        if not reset:
		            s.shutdown(socket.SHUT_WR)
		            while s.recv(65536):
		                pass
		    except OSError:
		        pass
		    s.close()

		whole = hello()
		for i in range(100):
		    send(rng.randbytes(rng.randrange(2000)), i % 3 == 0)
		for cut in list(range(0, len(whole), 16)) + [len(whole)]:
		    send(whole[:cut], cut % 3 == 0)
		for i in range(100):
		    broken = bytearray(whole)
		    broken[rng.randrange(len(broken))] ^= 1 << rng.randrange(8)
		    send(bytes(broken), i % 3 == 0)
	PY
	scraped --cacert ca.pem "$PAGE_URL"
	eventually no_more_descriptors "$before"
	ended
}

no_more_descriptors() {
	(($(descriptors) <= $1))
}

@test "page: files that are not right: one sentence at the start and by --check, nothing is attached" {
	needs_tls
	certificate client ca
	: >empty
	bad "cannot open '$TMP/none'" "${TLS/web.key/none}"
	bad "cannot open '$TMP/none'" "${TLS/web.pem/none}"
	bad "cannot use the certificate '$TMP/web.pem' with the key '$TMP/client.key'" "${TLS/web.key/client.key}"
	bad "cannot use the certificate '$TMP/empty'" "${TLS/web.pem/empty}"
	bad "cannot check clients with '$TMP/empty'" "$TLS"', "client_ca_file": "'"$TMP"'/empty"'
	bad "no token in '$TMP/empty'" "$TLS"', "token_file": "'"$TMP"'/empty"'
	bad "cannot open '$TMP/none'" "$TLS"', "token_file": "'"$TMP"'/none"'
	openssl pkey -in web.key -aes256 -passout pass:secret -out locked.key
	bad "cannot use the certificate '$TMP/web.pem'" "${TLS/web.key/locked.key}"
}

# bad TEXT PAGE: neither the check nor the start takes this page.
bad() {
	configure "$IDLE"', "prometheus": {'"$2"'}'
	for how in "--check $TMP/snoop.json" "-c $TMP/snoop.json -d 1"; do
		# shellcheck disable=SC2086 # two words
		fs snoop $how
		assert_eq "exit status of $how" 1 "$status"
		assert_eq "lines ($(<err))" 1 "$(wc -l <err)"
		[[ $(<err) == *"$1"* ]] || fail "'$1' is not in: $(<err)"
	done
}

@test "page: for others without token and certificates, or a token in clear text: a warning says so" {
	need_command python3
	PAGE_PORT=$(free_port)
	echo 0123456789abcdef >token
	configure "$IDLE"', "prometheus": {"listen": "0.0.0.0:'"$PAGE_PORT"'"}'
	snoop -d 0.1
	join
	assert_match "open" "$(<err)" "warning: anyone who can reach 0.0.0.0:$PAGE_PORT can read the metrics"
	configure "$IDLE"', "prometheus": {"listen": "0.0.0.0:'"$PAGE_PORT"'", "token_file": "'"$TMP"'/token"}'
	snoop -d 0.1
	join
	assert_match "clear text" "$(<err)" "warning: the token for 0.0.0.0:$PAGE_PORT is sent unencrypted"
	configure "$IDLE"', "prometheus": {"listen": "127.0.0.1:'"$PAGE_PORT"'"}'
	snoop -d 0.1
	join
	assert_eq "none on the loopback" 0 "$(grep -c warning err || true)"
}

@test "page: the static program says that it has no TLS" {
	local static=$E2E_TOP/build/static/funcscope
	[[ -x $static ]] || skip "the static program is not built (make STATIC=1)"
	needs_tls
	# shellcheck disable=SC2034 # for common.bash
	FUNCSCOPE=$static
	bad "a page with TLS needs libgnutls.so.30, which a static program cannot load" "$TLS"
}
