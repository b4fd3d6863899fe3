# The schema of snoop's configuration: it takes every example, and refuses what the reader refuses (tests/unit/test_snoop_config.c
# reads the same files).

load common

@test "the schema takes every example and the printed sample, and no broken file" {
	python3 -c 'import jsonschema; jsonschema.Draft202012Validator' 2>/dev/null || skip "python3-jsonschema is not here"
	cd "$E2E_TOP"
	run -0 python3 tests/e2e/snoop_schema.py deploy/snoop.schema.json tests/fixtures/snoop-broken.json \
		tests/fixtures/snoop-seed.json examples/snoop/*.json
	assert_eq "what is wrong" "" "$output"
}
