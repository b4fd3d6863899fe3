# Fetches Debian packages of any architecture without touching the machine's
# own package system: a private apt with its own lists, cache, dpkg status and
# source file below build/vm/apt-ARCH. Only the mirror's address is taken from
# the machine, so that whatever reaches packages here reaches them for us too.
# Sourced after common.bash.
# shellcheck shell=bash

APT_KEYRING=/usr/share/keyrings/debian-archive-keyring.gpg
APT_SUITES=${APT_SUITES:-bookworm bookworm-backports}

# apt_dir ARCH: where the private apt of these suites lives. Each set of suites has its own, so that the packages of one
# are never mixed with those of another.
apt_dir() {
	local suites=${APT_SUITES// /+}
	[[ $suites != bookworm+bookworm-backports ]] || suites=
	printf '%s\n' "$VM_DIR/apt-$1${suites:+-$suites}"
}

# Prints "URI SUITE" for every enabled binary source in deb822 files.
apt_sources_deb822() {
	awk '
	function flush(   i, j, nu, ns, u, s) {
		if (f["types"] ~ /(^| )deb( |$)/ && f["enabled"] !~ /^ *(no|false|0) *$/) {
			nu = split(f["uris"], u, " ")
			ns = split(f["suites"], s, " ")
			for (i = 1; i <= nu; i++)
				for (j = 1; j <= ns; j++)
					print u[i], s[j]
		}
		delete f
	}
	FNR == 1 || /^[ \t]*$/ { flush(); key = ""; if (/^[ \t]*$/) next }
	/^#/ { next }
	/^[ \t]/ { if (key) f[key] = f[key] " " $0; next }
	{ key = tolower($0); sub(/:.*/, "", key); v = $0; sub(/^[^:]*:[ \t]*/, "", v); f[key] = v }
	END { flush() }' "$@"
}

# The same for one-line files: deb [options] URI SUITE COMPONENT...
apt_sources_list() {
	sed -n 's/^[ \t]*deb[ \t]\+\(\[[^]]*\][ \t]*\)\?\([^ \t]\+\)[ \t]\+\([^ \t]\+\).*/\2 \3/p' "$@"
}

# Prints the address from which the machine itself gets bookworm.
apt_mirror() {
	local list=() deb822=()
	shopt -s nullglob
	list=(/etc/apt/sources.list.d/*.list)
	deb822=(/etc/apt/sources.list.d/*.sources)
	shopt -u nullglob
	[[ -e /etc/apt/sources.list ]] && list+=(/etc/apt/sources.list)
	{
		((${#deb822[@]} == 0)) || apt_sources_deb822 "${deb822[@]}"
		((${#list[@]} == 0)) || apt_sources_list "${list[@]}"
	} | awk '$2 == "bookworm" && !seen++ { print $1 }'
}

# The machine's apt.conf.d is still read (it may name a proxy), so our
# settings come after it, and its hooks, which act on the machine, are cleared.
apt_write_conf() {
	local arch=$1 dir=$2
	cat >"$dir/apt.conf" <<-EOF
		#clear APT::Architectures;
		#clear APT::Update::Pre-Invoke;
		#clear APT::Update::Post-Invoke;
		#clear APT::Update::Post-Invoke-Success;
		#clear DPkg::Pre-Install-Pkgs;
		#clear DPkg::Pre-Invoke;
		#clear DPkg::Post-Invoke;
		APT::Architecture "$arch";
		APT::Architectures { "$arch"; };
		APT::Install-Recommends "false";
		APT::Sandbox::User "root";
		Acquire::Languages "none";
		Acquire::Retries "3";
		Dir::State "$dir/state";
		Dir::State::status "$dir/status";
		Dir::Cache "$dir/cache";
		Dir::Etc::sourcelist "$dir/sources.list";
		Dir::Etc::sourceparts "/dev/null";
		Dir::Etc::preferences "/dev/null";
		Dir::Etc::preferencesparts "/dev/null";
		Dir::Log "$dir";
	EOF
}

apt_write_sources() {
	local mirror=$1 dir=$2 suite
	for suite in $APT_SUITES; do
		printf 'deb [signed-by=%s] %s %s main\n' "$APT_KEYRING" "$mirror" "$suite"
	done >"$dir/sources.list"
}

apt_private() {
	local arch=$1
	shift
	"$1" -c "$(apt_dir "$arch")/apt.conf" "${@:2}"
}

# apt_setup ARCH: makes the private apt usable. Lists older than a day are
# fetched again, as a mirror drops the packages that they name.
apt_setup() {
	local arch=$1 dir mirror
	dir=$(apt_dir "$arch")
	[[ -z $(find "$dir/ready" -mmin -1440 2>/dev/null || true) ]] || return 0
	need_command apt-get apt
	need_command dpkg-deb dpkg
	[[ -e $APT_KEYRING ]] || missing "no $APT_KEYRING (package debian-archive-keyring)"
	mirror=$(apt_mirror)
	[[ -n $mirror ]] || missing "no bookworm source among this machine's apt sources"
	mkdir -p "$dir/state/lists/partial" "$dir/cache/archives/partial" "$dir/none/partial"
	: >"$dir/status"
	apt_write_conf "$arch" "$dir"
	apt_write_sources "$mirror" "$dir"
	apt_private "$arch" apt-get -qq --error-on=any update >&2 ||
		missing "the Debian mirror does not answer"
	touch "$dir/ready"
}

# apt_closure ARCH PACKAGE...: downloads the packages and all they depend on,
# prints the .deb files. The empty private status means nothing is left out; the
# empty archive directory is for --print-uris, which omits what is there already.
apt_closure() {
	local arch=$1 dir names name
	dir=$(apt_dir "$arch")
	shift
	names=$(apt_private "$arch" apt-get -qq -o Dir::Cache::archives="$dir/none" \
		--print-uris install "$@" | awk '{ print $2 }')
	apt_private "$arch" apt-get -qq -y --download-only install "$@" >&2 ||
		missing "cannot download packages for $arch"
	for name in $names; do
		printf '%s\n' "$dir/cache/archives/$name"
	done
}

# apt_download ARCH PACKAGE: one package alone, prints the .deb file.
apt_download() {
	local arch=$1 dir
	dir=$(apt_dir "$arch")/single-$2
	mkdir -p "$dir"
	(cd "$dir" && apt_private "$arch" apt-get -qq download "$2" >&2) ||
		missing "cannot download $2 for $arch"
	printf '%s\n' "$dir"/*.deb
}
