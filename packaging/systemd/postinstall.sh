#!/bin/sh
# The service is not started by itself: it would take port 6379, perhaps from Redis, before anybody has looked at its settings.
set -e
if [ -d /run/systemd/system ]; then
    systemctl daemon-reload || true
fi
echo "Stint is installed. Look at /etc/stint/stint.toml, then start it: systemctl enable --now stint"
