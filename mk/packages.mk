# Debian packages: what building, testing and measuring need. `make deps` installs those that are missing,
# and touches nothing when none is.

BUILD_PACKAGES := gcc make clang bpftool libbpf-dev libelf-dev libdw-dev libiberty-dev liblzma-dev libjansson-dev \
		  zlib1g-dev libbz2-dev libzstd-dev libmicrohttpd-dev libgnutls28-dev libcurl4-openssl-dev libzydis-dev mandoc
TEST_PACKAGES  := g++ bats libcmocka-dev jq xz-utils binutils file procps python3-jsonschema curl protobuf-compiler \
		  prometheus prometheus-alertmanager python3-yaml sqlite3 redis-tools luajit openssl git libc6-dbg golang-go
BENCH_PACKAGES := bpftrace time uftrace lttng-tools liblttng-ust-dev

deps:
	@tools/need-packages $(BUILD_PACKAGES) $(EXTRA_PACKAGES)
