#!/bin/sh
# Prints the Debian mirror in this machine's package sources, or nothing if none is there.
cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources 2>/dev/null |
	sed -n -e 's/^URIs: *\([^ ]*debian\)\/*$/\1/p' \
		-e 's/^deb \(\[[^]]*\] \)\{0,1\}\([^ ]*debian\)\/* .*/\2/p' | head -n 1
