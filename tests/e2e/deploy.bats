# What deploy/ ships is taken by those it is for: promtool and Prometheus, systemd, readers of YAML and JSON. The queries of the
# dashboards and the rules are put to a real Prometheus that scrapes a real monitor of the fixture steady. Servers listen on free
# ports of the loopback; they are asked until they answer or a deadline passes.
load common

DEPLOY=$E2E_TOP/deploy

setup() {
	e2e_setup
	unset http_proxy https_proxy HTTP_PROXY HTTPS_PROXY
}

# What holds the fixture's input goes first: it ends by itself.
teardown() {
	exec 7>&- || true
	e2e_teardown
}

need() {
	command -v "$1" >/dev/null || skip "needs $1 (Debian's package $2)"
}

need_yaml() {
	/usr/bin/python3 -c 'import yaml' 2>/dev/null || skip "needs python3-yaml"
}

# until_true COMMAND...: runs it until it succeeds; fails after half a minute.
until_true() {
	local end=$((SECONDS + 30))
	until "$@"; do
		((SECONDS < end)) || fail "not within half a minute: $*; $(tail -n 5 ./*.log 2>/dev/null)"
		sleep 0.1
	done
}

# ---- a monitor and a Prometheus ----

free_port() {
	/usr/bin/python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# start_monitor: a monitor of the fixture steady, with receivers that nobody is at; its page is at $PAGE.
start_monitor() {
	PAGE=127.0.0.1:$(free_port)
	mkfifo hold
	"$FIXTURES/steady" <hold 3>&- &
	PIDS+=("$!")
	exec 7>hold
	cat >snoop.json <<-END
		{
			"cuda_func_sym": {
				"quick": {"symbol": "quick", "errors": "cuda"},
				"fails": {"symbol": "fails", "errors": "cuda"},
				"slow": {"symbol": "slow", "errors": "cuda"}
			},
			"libraries": {"cuda": "$FIXTURES/steady"},
			"targets": {"pids": [${PIDS[0]}]},
			"slow": "2ms", "warnings": 0, "report": {"every": "0"},
			"prometheus": {"listen": "$PAGE"},
			"otlp": {"endpoint": "http://127.0.0.1:1", "every": "1s"},
			"alertmanager": {"url": "http://127.0.0.1:1", "every": "1s"},
			"control": "$TMP/control.sock"
		}
	END
	"$FUNCSCOPE" snoop -c snoop.json >snoop.out 2>snoop.log 3>&- 7>&- </dev/null &
	PIDS+=("$!")
	until_true curl -sS --max-time 5 -o page "http://$PAGE/metrics"
}

# listening LOG: the port that Prometheus says it listens on.
listening() {
	PORT=$(sed -n 's/.*msg="Listening on".*address=127\.0\.0\.1:\([0-9]*\).*/\1/p' "$1")
	[[ $PORT ]]
}

# start_prometheus FILE [OPTIONS...]: on a configuration of deploy/, with the monitor as its target and shorter intervals; the port
# of its API in $PORT.
start_prometheus() {
	sed -e "s/localhost:9464/$PAGE/; s/: 15s/: 1s/" "$DEPLOY/prometheus/$1" >prometheus.yml
	cp "$DEPLOY/prometheus/funcscope.rules.yml" .
	prometheus --config.file=prometheus.yml --storage.tsdb.path=data --web.listen-address=127.0.0.1:0 \
		"${@:2}" >prometheus.log 2>&1 3>&- 7>&- </dev/null &
	PIDS+=("$!")
	until_true listening prometheus.log
}

# query EXPRESSION: the answer, as it is.
query() {
	curl -sS --max-time 10 --get "http://127.0.0.1:$PORT/api/v1/query" --data-urlencode "query=$1"
}

# has_data EXPRESSION: there is a result, and a number in it.
has_data() {
	query "$1" >answer
	jq -e '.status == "success" and ([.data.result[] | .histogram[1].count // .value[1] | select(. != "NaN")] | length > 0)' \
		answer >/dev/null
}

# ---- what the files ask ----

# panels FILE: the expressions of a dashboard, one per line, with Grafana's variables filled in.
panels() {
	jq -r '.panels[].targets[]?.expr' "$1" |
		sed -e 's/\$__rate_interval/30s/g; s/\$__range/30s/g; s/\$top/10/g; s/"\$[a-z]*"/".*"/g'
}

# variables FILE: the expressions that a dashboard's variables are found by: label_values(EXPRESSION, LABEL), as it is written.
variables() {
	jq -r '.templating.list[] | select(.type == "query") | .definition' "$1" | sed -e 's/"\$[a-z]*"/".*"/g'
}

# ask_dashboards: every panel and every variable of the dashboards has data.
ask_dashboards() {
	local dashboard expr n=0
	for dashboard in "$DEPLOY"/grafana/dashboards/*.json; do
		while read -r expr; do
			refute_match "what is left to fill in" "$expr" '\$'
			until_true has_data "$expr" || fail "$(<answer)"
			n=$((n + 1))
		done < <(panels "$dashboard")
		while read -r expr; do
			[[ $expr =~ ^label_values\((.*),\ ([a-z]+)\)$ ]] || fail "no label_values: $expr"
			until_true has_data "count by (${BASH_REMATCH[2]}) (${BASH_REMATCH[1]})"
		done < <(variables "$dashboard")
	done
	((n > 40)) || fail "only $n queries"
}

# ask_rules: every recorded series is there, and no rule fails.
ask_rules() {
	local name
	while read -r name; do
		until_true has_data "$name"
	done < <(sed -n 's/^ *- record: //p' "$DEPLOY/prometheus/funcscope.rules.yml")
	curl -sS --max-time 10 "http://127.0.0.1:$PORT/api/v1/rules" >rules
	jq -e '[.data.groups[].rules[]] | length > 15 and all(.health == "ok")' rules || fail "$(<rules)"
}

# ---- Prometheus and Grafana ----

@test "deploy: promtool finds nothing wrong with the scrape configurations and the rules" {
	need promtool prometheus
	local f
	cd "$DEPLOY/prometheus"
	for f in prometheus.yml prometheus-native.yml; do
		promtool check config --lint-fatal "$f" >"$TMP/check" 2>&1 || fail "$f: $(<"$TMP/check")"
	done
	promtool check rules --lint-fatal funcscope.rules.yml >"$TMP/check" 2>&1 || fail "$(<"$TMP/check")"
}

@test "deploy: every alert fires when it should, and only then" {
	need promtool prometheus
	local alert
	cd "$DEPLOY/prometheus"
	promtool test rules funcscope.test.yml >"$TMP/check" 2>&1 || fail "$(<"$TMP/check")"
	while read -r alert; do
		assert_match 'once asked for as firing' "$(grep -A 2 "alertname: $alert$" funcscope.test.yml)" 'exp_labels'
	done < <(sed -n 's/^ *- alert: //p' funcscope.rules.yml)
}

@test "deploy: dashboards and rules name no metric that is not in the contract" {
	local name
	grep -ohE 'funcscope_[a-z_]+' "$DEPLOY"/grafana/dashboards/*.json "$DEPLOY/prometheus/funcscope.rules.yml" |
		sed -E 's/_(bucket|sum|count)$//' | sort -u >used
	(($(wc -l <used) > 15)) || fail "too few: $(<used)"
	while read -r name; do
		# what a rule records carries the name without its last part
		grep -qE "\`$name(_total)?\`" "$E2E_TOP/docs/METRICS.md" ||
			[[ $name == funcscope_calls ]] || fail "not in docs/METRICS.md: $name"
	done <used
}

@test "deploy: dashboards are classic JSON with a fixed uid and a data source to choose" {
	local f
	for f in "$DEPLOY"/grafana/dashboards/*.json; do
		jq -e --arg uid "$(basename "$f" .json)" '.uid == $uid and .id == null and .schemaVersion >= 36 and
			(.templating.list[0] | .type == "datasource" and .query == "prometheus") and
			([.panels[].id] | length == (unique | length)) and
			([.panels[] | select(.type != "row") | .datasource.uid, .targets[].datasource.uid] | unique) == ["${datasource}"] and
			([.panels[] | select(.type != "row") | .title, .description] | all(length > 0)) and
			([.panels[].gridPos | .x + .w] | max) <= 24' "$f" >/dev/null || fail "$f"
	done
}

@test "deploy: every query of the dashboards has data, from classic histograms" {
	need prometheus prometheus
	need_fixture steady
	start_monitor
	start_prometheus prometheus.yml
	ask_dashboards
	ask_rules
	has_data 'funcscope_call_duration_seconds_bucket' || fail "no classic histogram was scraped"
}

@test "deploy: every query of the dashboards has data, from native histograms" {
	need prometheus prometheus
	need_fixture steady
	start_monitor
	start_prometheus prometheus-native.yml --enable-feature=native-histograms
	ask_dashboards
	ask_rules
	! has_data 'funcscope_call_duration_seconds_bucket' || fail "a classic histogram was scraped"
}
