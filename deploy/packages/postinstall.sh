#!/bin/sh
# Runs after the installation and after each upgrade, of a deb ("configure", and the version before) and of an rpm (how many
# versions are installed). It starts and restarts nothing.
set -e

case "$1" in
configure) before=$2 ;;
1) before= ;;
2) before="the version before" ;;
*) exit 0 ;;
esac

if ! getent group jeton >/dev/null; then
	groupadd --system jeton
fi
if ! getent passwd jeton >/dev/null; then
	useradd --system --gid jeton --home-dir /var/lib/jeton --no-create-home --shell /usr/sbin/nologin --comment "jeton rate limiter" jeton
fi
if [ ! -d /var/lib/jeton ]; then
	install -d -o jeton -g jeton -m 0700 /var/lib/jeton
fi
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload || :
fi

if [ -z "$before" ]; then
	echo "jeton: nothing was started. Limits are in /etc/jeton/limits.yaml, options of a node in /etc/jeton/jeton.yaml, a gateway in /etc/jeton/gateway.yaml."
	echo "jeton: for a cluster of several nodes, edit jeton.yaml first: a node that has run alone is a cluster of its own."
	echo "jeton: start a node with 'systemctl enable --now jeton', a gateway with 'systemctl enable --now jeton-gateway'."
else
	echo "jeton: upgraded from $before. Nodes and gateways that run go on as they are until you restart them."
	echo "jeton: restart one node after another: 'systemctl restart jeton', and before the next, wait until 'jeton health' says that this one is ready, and for 'jeton cluster status --strict'. Where nodes do not listen on 127.0.0.1, give them JETON_SERVER, on each machine the address of its own node, and JETON_CLUSTER_KEY_FILE."
fi
