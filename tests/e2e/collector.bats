# What a monitor pushes, read by the OpenTelemetry project's own collector: its counts are those that the monitor reports itself.
load common
load measure
load snoop

setup() {
	e2e_setup
	unset http_proxy https_proxy HTTP_PROXY HTTPS_PROXY
	OTELCOL=$E2E_TOP/build/otel/otelcol
	[[ -x $OTELCOL ]] || skip "needs $OTELCOL (make test-otel-deps)"
	need_fixture steady
	start_collector
	mkfifo hold
	"$FIXTURES/steady" <hold >/dev/null 3>&- &
	PIDS+=("$!")
	STEADY=$!
	exec 7>hold
}

# What holds the fixture's input goes first: it ends by itself.
teardown() {
	exec 7>&- || true
	e2e_teardown
}

start_collector() {
	PORT=$(free_port)
	cat >collector.yaml <<-END
		receivers: {otlp: {protocols: {http: {endpoint: "127.0.0.1:$PORT"}}}}
		exporters: {debug: {verbosity: detailed}}
		service:
		  telemetry: {metrics: {level: none}}
		  pipelines:
		    metrics: {receivers: [otlp], exporters: [debug]}
		    logs: {receivers: [otlp], exporters: [debug]}
		    traces: {receivers: [otlp], exporters: [debug]}
	END
	"$OTELCOL" --config collector.yaml >collector.log 2>&1 3>&- </dev/null &
	PIDS+=("$!")
	eventually grep -q 'Everything is ready' collector.log
}

# received FUNCTION: the calls in the last histogram that the collector has of it.
received() {
	awk -v wanted="Str($1)" '/-> Name: / { name = $NF } /-> code.function.name: / { of = $NF }
		/^Count: / && name == "funcscope.call.duration" && of == wanted { n = $2 } END { print n + 0 }' collector.log
}

received_is() {
	[[ $(received "$1") == "$2" ]]
}

records_are() {
	[[ $(grep -a -c "^$1 #" collector.log) == "$2" ]]
}

slow_calls_came() {
	(($(counted slow) >= 5))
}

# push RECORD SETTINGS: a monitor with these settings of otlp sends its counts, and its slow calls as such records.
push() {
	local lib=$FIXTURES/steady
	configure '"custom_sym": {"quick": {"symbol": "quick", "library": "'"$lib"'"}, "slow": {"symbol": "slow", "library": "'"$lib"'"}},
		"targets": {"pids": ['"$STEADY"']}, "slow": "2ms", "warnings": 0,
		"otlp": {"endpoint": "http://127.0.0.1:'"$PORT"'", "every": "1s", '"$2"'}'
	snoop
	eventually slow_calls_came
	ended
	refute_match "what was refused" "$(<err)" '[1-9][0-9]* (refused|records rejected)'
	eventually received_is quick "$(calls type=latency function=quick)"
	eventually received_is slow "$(calls type=latency function=slow)"
	eventually records_are "$1" "$(values slow type=latency | awk '{ n += $1 } END { print n }')"
	! grep -a -q $'\terror\t' collector.log || fail "$(grep -a $'\terror\t' collector.log)"
}

@test "collector: metrics and slow calls as logs, protocol buffers with gzip" {
	push LogRecord '"protocol": "protobuf"'
}

@test "collector: metrics and slow calls as spans, JSON as it is" {
	push Span '"protocol": "json", "compression": "none", "slow_calls": "spans"'
}
