#!/bin/sh
# Runs after the removal, of a deb ("remove", and "purge" when its configuration goes too) and of an rpm (0). The data of a node is never
# removed: other nodes may lack it. Nor is the user, whose files they are.
set -e

case "$1" in
remove | 0)
	echo "jeton: removed. The data of the node stays in /var/lib/jeton, and its configuration in /etc/jeton."
	echo "jeton: if it will not come back, 'jeton cluster remove NODE' on another node takes it out of its cluster."
	;;
purge)
	rmdir /etc/jeton 2>/dev/null || :
	echo "jeton: the configuration is removed, but for files in /etc/jeton that the package did not bring."
	echo "jeton: the data of the node stays in /var/lib/jeton: 'rm -r /var/lib/jeton' and 'userdel jeton' remove it and its user for good."
	;;
*) exit 0 ;;
esac

if [ -d /run/systemd/system ]; then
	systemctl daemon-reload || :
fi
