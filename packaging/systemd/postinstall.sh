#!/bin/sh
# The service is not started by itself: it would take port 6379, perhaps from Redis, before anybody has looked at its settings. An upgrade
# does not restart it either: the operator chooses the moment, and the order of a cluster's nodes.
set -e
if [ -d /run/systemd/system ]; then
    systemctl daemon-reload || true
fi
# dpkg gives the version before, rpm the number of packages.
if [ -n "${2:-}" ] || [ "$1" = 2 ]; then
    echo "Stint is upgraded. A running server stays in the version before until: systemctl restart stint"
else
    echo "Stint is installed. Look at /etc/stint/stint.toml, then start it: systemctl enable --now stint"
fi
