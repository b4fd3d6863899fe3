# The end-to-end tests in virtual machines: Debian's own kernels under qemu's
# software emulation, for what the building machine's kernel cannot show
# (kprobes, fentry, older and newer kernels, arm64). All work is done by the
# scripts in tests/vm; everything fetched or made lies in build/vm.
#
#   make vm-fetch              kernels, root file systems, arm64 sysroot
#   make test-vm               all guests, one after the other
#   make test-vm-amd64-6.1     one guest
#   make test-vm-systemd       the monitor as a service, in guests that boot systemd
#   tests/vm/run GUEST --exec 'COMMAND'      look around in a guest

# Those that take longest first.
VM_GUESTS := amd64-6.12 amd64-6.1 arm64-6.12 amd64-6.18 amd64-newest

# What a machine needs to run all guests and to build for them.
VM_PACKAGES := qemu-system-x86 qemu-system-arm cpio debian-archive-keyring \
	gcc-aarch64-linux-gnu g++-aarch64-linux-gnu

.PHONY: vm-fetch test-vm test-vm-systemd $(VM_GUESTS:%=test-vm-%)

vm-fetch:
	set -e; for guest in $(VM_GUESTS); do tests/vm/kernel $$guest; done
	tests/vm/qemu
	tests/vm/rootfs amd64 systemd
	tests/vm/rootfs arm64
	tests/vm/sysroot arm64

test-vm:
	+@MAKE='$(MAKE)' tests/vm/suite $(VM_GUESTS)

test-vm-systemd:
	+@MAKE='$(MAKE)' VM_ROOT=systemd tests/vm/suite amd64-6.12 amd64-6.1

$(VM_GUESTS:%=test-vm-%): test-vm-%:
	+@MAKE='$(MAKE)' tests/vm/suite $*
