# What is sent to others is read by those others: Prometheus and its promtool, OpenTelemetry's decoder, Alertmanager. The numbers
# are those of tests/unit/snapshots.h, written by build/unit/exporters. Servers listen on free ports of the loopback; they are
# asked until they answer or a deadline passes.
load common

setup() {
	e2e_setup
	EXPORTERS=$E2E_TOP/build/unit/exporters
	[[ -x $EXPORTERS ]] || skip "needs $EXPORTERS (make unit)"
	unset http_proxy https_proxy HTTP_PROXY HTTPS_PROXY
}
teardown() { e2e_teardown; }

need() {
	command -v "$1" >/dev/null || skip "needs $1 (Debian's package $2)"
}

# until_true COMMAND...: runs it until it succeeds; fails after a minute.
until_true() {
	local end=$((SECONDS + 60))
	until "$@"; do
		((SECONDS < end)) || fail "not within a minute: $*; $(tail -n 5 ./*.log 2>/dev/null)"
		sleep 0.1
	done
}

# Starts the server of pages; its port in $PORT. It ends with its standard input.
serve_pages() {
	mkfifo hold
	"$EXPORTERS" serve <hold >port 2>serve.log 3>&- &
	PIDS+=($!)
	exec 8>hold
	until_true test -s port
	PORT=$(<port)
}

# listening LOG: the port that a server of the Prometheus family says it listens on.
listening() {
	PORT=$(sed -n 's/.*msg="Listening on".*address=127\.0\.0\.1:\([0-9]*\).*/\1/p' "$1")
	[[ $PORT ]]
}

# Starts Prometheus, scraping the pages; the port of its API in $PORT. $1: its features.
start_prometheus() {
	serve_pages
	cat >prometheus.yml <<-END
		global: {scrape_interval: 1s, scrape_timeout: 1s}
		scrape_configs: [{job_name: test, static_configs: [{targets: ["127.0.0.1:$PORT"]}]}]
	END
	prometheus --config.file=prometheus.yml --storage.tsdb.path=data --web.listen-address=127.0.0.1:0 \
		--enable-feature="$1" >prometheus.log 2>&1 3>&- 8>&- </dev/null &
	PIDS+=($!)
	until_true listening prometheus.log
}

# query EXPRESSION: the values, one per line.
query() {
	curl -sS --max-time 10 --get "http://127.0.0.1:$PORT/api/v1/query" --data-urlencode "query=$1" | jq -r '.data.result[].value[1]'
}

is_value() {
	[[ $(query "$1") == "$2" ]]
}

exemplars() {
	curl -sS --max-time 10 --get "http://127.0.0.1:$PORT/api/v1/query_exemplars" --data-urlencode "query=$1" \
		--data-urlencode "start=$(($(date +%s) - 600))" --data-urlencode "end=$(($(date +%s) + 600))"
}

# The target is up and nothing was wrong with what it gave.
scraped_well() {
	is_value 'up{job="test"}' 1 || fail "$(curl -sS "http://127.0.0.1:$PORT/api/v1/targets" | jq -c .data.activeTargets)"
}

@test "exporters: promtool finds nothing wrong with the text" {
	need promtool prometheus
	"$EXPORTERS" .
	promtool check metrics <metrics.txt >check 2>&1 || fail "$(<check)"
	assert_eq 'what promtool says' '' "$(<check)"
	no_control_bytes metrics.txt
	no_control_bytes metrics.om
}

@test "exporters: promtool makes blocks of the OpenMetrics page" {
	need promtool prometheus
	"$EXPORTERS" .
	# it wants a time with each line
	sed -E "/^#/!{s/ # \{.*//;s/$/ $(date +%s)/}" metrics.om >stamped.om
	promtool tsdb create-blocks-from openmetrics stamped.om blocks >check 2>&1 || fail "$(<check)"
}

@test "exporters: Prometheus scrapes native histograms with exemplars" {
	need prometheus prometheus
	start_prometheus native-histograms,exemplar-storage
	until_true is_value 'histogram_count(funcscope_call_duration_seconds{function="work"})' 112
	scraped_well
	assert_eq sum 0.0651 "$(query 'histogram_sum(funcscope_call_duration_seconds{function="work"})')"
	assert_eq overflow 5 "$(query 'histogram_count(funcscope_call_duration_seconds{overflow="true"})')"
	assert_eq 'no calls' 0 "$(query 'histogram_count(funcscope_call_duration_seconds{function="vfs_read"})')"
	# of 112 calls, 100 took 1 us: the median is there, within a bucket of 2^(1/8)
	assert_eq median 1 "$(query 'count(histogram_quantile(0.5, funcscope_call_duration_seconds{function="work"}) > 0.9e-6 < 1.1e-6)')"
	assert_eq classic '' "$(query 'funcscope_call_duration_seconds_bucket')"
	assert_eq errors 3 "$(query 'funcscope_call_errors_total{error="EINVAL",pid="42",comm="prog",group="app"}')"
	assert_eq evil 1 "$(query 'count(funcscope_slow_calls_total{function="f\\x1b[2J\"\\\\xff\\x0a{}<img>"})')"
	assert_eq constant 1 "$(query 'count(funcscope_build_info{dc="north"})')"
	exemplars 'funcscope_call_duration_seconds{function="work"}' >got
	jq -e '.data[0].exemplars[0] | .labels == {call_id: "6", pid: "42", tid: "43"} and (.value | tonumber) == 0.025' got ||
		fail "$(<got)"
}

@test "exporters: Prometheus scrapes OpenMetrics with exemplars" {
	need prometheus prometheus
	start_prometheus exemplar-storage
	until_true is_value 'funcscope_call_duration_seconds_count{function="work"}' 112
	scraped_well
	assert_eq infinity 112 "$(query 'funcscope_call_duration_seconds_bucket{function="work",le="+Inf"}')"
	assert_eq '1 us' 100 "$(query 'funcscope_call_duration_seconds_bucket{function="work",le="1e-06"}')"
	assert_eq bounds 14 "$(query 'count(funcscope_call_duration_seconds_bucket{function="work"})')"
	assert_eq kept 1000 "$(query 'funcscope_calls_kept_total')"
	exemplars 'funcscope_call_duration_seconds_bucket{function="work"}' >got
	jq -e '[.data[].exemplars[]] | length == 1 and .[0].labels.call_id == "6"' got || fail "$(<got)"
}

@test "exporters: protoc takes the OTLP messages apart" {
	need protoc protobuf-compiler
	local f
	"$EXPORTERS" .
	for f in metrics logs trace; do
		protoc --decode_raw <"$f.otlp.pb" >raw || fail "$f"
		assert_match "$f: who sends" "$(<raw)" 'service.name'
		jq -e . "$f.otlp.json" >/dev/null
	done
}

@test "exporters: OpenTelemetry's own decoder reads the same in both encodings" {
	need node nodejs
	local f modules=$E2E_TOP/build/web/node_modules
	[[ -d $modules/@opentelemetry/otlp-transformer ]] || skip "needs $modules (make test-web-deps)"
	"$EXPORTERS" .
	for f in metrics logs trace; do
		node "$E2E_TOP/tests/web/decode-otlp.js" "$modules" "$f" "$f.otlp.pb" "$f.otlp.json" >"$f" 2>err || fail "$f: $(<err)"
	done
	jq -e '.resourceMetrics[0].scopeMetrics[0].metrics | length == 10 and
		(.[0].exponentialHistogram.dataPoints[0] | .count == "112" and .scale == 3 and .max == 0.025 and
		(([.positive.bucketCounts[] | tonumber] | add) + (.zeroCount | tonumber)) == 112)' metrics || fail "$(<metrics)"
	jq -e '.resourceLogs[0].scopeLogs[0].logRecords | length == 3 and .[0].severityNumber == 13' logs
	jq -e '.resourceSpans[0].scopeSpans[0].spans | length == 3 and .[0].traceId == 16 and .[0].spanId == 8' trace
}

@test "exporters: OpenTelemetry's Python classes read the messages" {
	/usr/bin/python3 -c 'import opentelemetry.proto.collector.metrics.v1.metrics_service_pb2' 2>/dev/null ||
		skip "needs python3-opentelemetry-proto (Debian's backports)"
	"$EXPORTERS" .
	/usr/bin/python3 - >got 2>err <<-'END' || fail "$(<err)"
		from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2 as metrics
		from opentelemetry.proto.collector.logs.v1 import logs_service_pb2 as logs
		m = metrics.ExportMetricsServiceRequest.FromString(open("metrics.otlp.pb", "rb").read())
		l = logs.ExportLogsServiceRequest.FromString(open("logs.otlp.pb", "rb").read())
		p = m.resource_metrics[0].scope_metrics[0].metrics[0].exponential_histogram.data_points[0]
		print(p.count, sum(p.positive.bucket_counts) + p.zero_count, len(l.resource_logs[0].scope_logs[0].log_records))
	END
	assert_eq 'count, buckets, records' '112 112 3' "$(<got)"
}

@test "exporters: Alertmanager takes the alerts, and the same again" {
	need prometheus-alertmanager prometheus-alertmanager
	need amtool prometheus-alertmanager
	"$EXPORTERS" .
	printf 'route: {receiver: none}\nreceivers: [{name: none}]\n' >am.yml
	prometheus-alertmanager --config.file=am.yml --storage.path=data --cluster.listen-address= \
		--web.listen-address=127.0.0.1:0 >am.log 2>&1 3>&- </dev/null &
	PIDS+=($!)
	until_true listening am.log
	local again
	for again in 1 2; do
		assert_eq "status $again" 200 "$(curl -sS --max-time 10 -o reply -w '%{http_code}' -H 'Content-Type: application/json' \
			--data-binary @alerts.json "http://127.0.0.1:$PORT/api/v2/alerts")"
	done
	amtool alert query --alertmanager.url="http://127.0.0.1:$PORT" -o json >got
	jq -e 'length == 2 and all(.labels.alertname == "FuncscopeSlowCall" and .labels.dc == "north") and
		any(.labels.function == "work" and .annotations.pid == "42")' got || fail "$(<got)"
}
