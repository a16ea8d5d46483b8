#!/bin/sh
# Runs before the removal, of a deb ("remove") and of an rpm (0), and then stops what runs: its program is about to go. Before an upgrade
# it does nothing.
set -e

case "$1" in
remove | 0) ;;
*) exit 0 ;;
esac

if [ -d /run/systemd/system ]; then
	systemctl disable --now jeton.service jeton-gateway.service || :
fi
