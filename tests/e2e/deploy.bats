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
		if ((SECONDS >= end)); then
			fail "not within half a minute: $*; $(tail -n 5 ./*.log 2>/dev/null)"
			return
		fi
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
# shellcheck disable=SC2016 # they are Grafana's variables
panels() {
	jq -r '.panels[].targets[]?.expr' "$1" |
		sed -e 's/\$__rate_interval/30s/g; s/\$__range/30s/g; s/\$top/10/g; s/"\$[a-z]*"/".*"/g'
}

# variables FILE: the expressions that a dashboard's variables are found by: label_values(EXPRESSION, LABEL), as it is written.
# shellcheck disable=SC2016
variables() {
	jq -r '.templating.list[] | select(.type == "query") | .definition' "$1" | sed -e 's/"\$[a-z]*"/".*"/g'
}

# ask_dashboards: every panel and every variable of the dashboards has data.
ask_dashboards() {
	local dashboard expr n=0
	for dashboard in "$DEPLOY"/grafana/dashboards/*.json; do
		while read -r expr; do
			refute_match "what is left to fill in" "$expr" '\$'
			until_true has_data "$expr"
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

# ---- systemd ----

# setting NAME: its value in the unit.
setting() {
	sed -n "s/^$1=//p" "$DEPLOY/systemd/funcscope-snoop.service"
}

@test "deploy: systemd takes the unit" {
	need systemd-analyze systemd
	sed "s|/usr/local/bin/funcscope|$FUNCSCOPE|" "$DEPLOY/systemd/funcscope-snoop.service" >funcscope-snoop.service
	systemd-analyze verify --man=no ./funcscope-snoop.service >check 2>&1 || fail "$(<check)"
	assert_eq 'what it says' '' "$(<check)"
}

@test "deploy: systemd finds the unit well closed" {
	need systemd-analyze systemd
	systemd-analyze security --offline=true --threshold=30 --no-pager "$DEPLOY/systemd/funcscope-snoop.service" >check 2>&1 ||
		fail "exposure over 3.0: $(tail -n 1 check)"
}

@test "deploy: the unit's capabilities are enough, for a program in a closed directory and a mount namespace" {
	((EUID == 0)) || skip "needs root"
	need_fixture steady
	need_command setpriv
	need_command unshare
	local caps
	caps=-all$(setting CapabilityBoundingSet | sed 's/CAP_//g; s/\(^\| \)/,+/g' | tr '[:upper:]' '[:lower:]')
	assert_eq capabilities '-all,+bpf,+perfmon,+sys_ptrace,+dac_read_search' "$caps"
	install -d -m 700 -o 65534 closed
	install -m 700 -o 65534 "$FIXTURES/steady" closed/steady
	mkfifo hold
	chmod a+x "$BATS_RUN_TMPDIR" # for the other user
	(cd closed && exec setpriv --reuid=65534 --clear-groups --inh-caps=-all ./steady <../hold 3>&-) &
	PIDS+=("$!")
	exec 7>hold
	printf '{"custom_sym": {"quick": {"symbol": "quick", "library": "steady"}}, "targets": {"pids": [%d]}, "report": {"every": "0"}}\n' \
		"${PIDS[0]}" >snoop.json
	# a namespace of its own, as ProtectSystem= makes one
	unshare --mount setpriv --inh-caps=-all --bounding-set="$caps" --no-new-privs \
		"$FUNCSCOPE" snoop --no-socket -d 1 -f json -c snoop.json >out 2>err 3>&- 7>&- </dev/null || fail "$(<err)"
	assert_match 'what was attached' "$(last_line)" '"attached":1,'
	refute_match 'what was seen' "$(last_line)" '"seen":0,'
}

# ---- Kubernetes, and what all have ----

@test "deploy: the DaemonSet has the fields it needs, and no more rights" {
	need_yaml
	/usr/bin/python3 - "$DEPLOY/kubernetes" >got 2>&1 <<-'END' || fail "$(<got)"
		import sys, yaml
		top = sys.argv[1]
		read = lambda name: list(yaml.safe_load_all(open(f"{top}/{name}")))
		daemon, service = read("daemonset.yaml")
		assert (daemon["apiVersion"], daemon["kind"]) == ("apps/v1", "DaemonSet")
		template = daemon["spec"]["template"]
		labels = template["metadata"]["labels"]
		assert daemon["spec"]["selector"]["matchLabels"] == labels == service["spec"]["selector"]
		pod = template["spec"]
		assert pod["hostPID"] is True and not pod.get("hostNetwork") and not pod.get("hostIPC")
		assert pod["automountServiceAccountToken"] is False
		[box] = pod["containers"]
		rights = box["securityContext"]
		assert rights["privileged"] is False and rights["allowPrivilegeEscalation"] is False
		assert rights["readOnlyRootFilesystem"] is True and rights["seccompProfile"]["type"] == "RuntimeDefault"
		assert rights["capabilities"]["drop"] == ["ALL"]
		unit = open(f"{top}/../systemd/funcscope-snoop.service").read()
		[line] = [l for l in unit.splitlines() if l.startswith("CapabilityBoundingSet=")]
		assert {"CAP_" + c for c in rights["capabilities"]["add"]} == set(line.split("=")[1].split()), "not those of the unit"
		[port] = box["ports"]
		notes = template["metadata"]["annotations"]
		assert notes["prometheus.io/scrape"] == "true" and notes["prometheus.io/port"] == str(port["containerPort"])
		for probe in "startupProbe", "readinessProbe", "livenessProbe":
		    assert box[probe]["httpGet"] == {"path": notes["prometheus.io/path"], "port": port["name"]}, probe
		assert box["resources"]["requests"].keys() == {"cpu", "memory"} and "memory" in box["resources"]["limits"]
		[mount] = box["volumeMounts"]
		[volume] = pod["volumes"]
		assert mount["name"] == volume["name"] and mount["readOnly"] is True and "hostPath" not in volume
		[kustom] = read("kustomization.yaml")
		[made] = kustom["configMapGenerator"]
		assert volume["configMap"]["name"] == made["name"]
		assert box["args"][-1] == mount["mountPath"] + "/" + made["files"][0]
		assert f':{port["containerPort"]}"' in open(f"{top}/{made['files'][0]}").read()
		[space] = read("namespace.yaml")
		assert space["metadata"]["name"] == kustom["namespace"]
	END
}

@test "deploy: kubectl puts the Kubernetes files together" {
	need kubectl kubernetes-client
	timeout 30 kubectl kustomize "$DEPLOY/kubernetes" >out 2>err || fail "$(<err)"
	assert_eq kinds 'ConfigMap DaemonSet Namespace Service' "$(sed -n 's/^kind: //p' out | sort | xargs)"
}

@test "deploy: all YAML and JSON can be read, and the configurations are right" {
	need_yaml
	local f
	while read -r f; do
		case $f in
		*.json) [[ $f == */snoop.json ]] || jq -e . "$f" >/dev/null || fail "$f" ;;
		*) /usr/bin/python3 -c 'import sys, yaml; assert all(yaml.safe_load_all(open(sys.argv[1])))' "$f" 2>err || fail "$f: $(<err)" ;;
		esac
	done < <(find "$DEPLOY" -name '*.json' -o -name '*.yml' -o -name '*.yaml')
	for f in "$DEPLOY"/*/snoop.json; do
		fs_ok snoop --check "$f"
	done
}

@test "deploy: the container file copies what the build makes" {
	local f
	f=$(sed -n 's/^COPY \([^ ]*\) .*/\1/p' "$DEPLOY/Containerfile")
	assert_eq 'the static program' build/static/funcscope "$f"
	assert_eq 'how it is called' '["/funcscope"]' "$(sed -n 's/^ENTRYPOINT //p' "$DEPLOY/Containerfile")"
}
