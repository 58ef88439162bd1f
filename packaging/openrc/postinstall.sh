#!/bin/sh
# Makes the user of the service. The service is not started by itself: it would take port 6379, perhaps from Redis, before anybody has looked
# at its settings.
set -e
addgroup -S stint 2>/dev/null || true
adduser -S -D -H -h /var/lib/stint -s /sbin/nologin -G stint stint 2>/dev/null || true
echo "Stint is installed. Look at /etc/stint/stint.toml, then start it: rc-update add stint && rc-service stint start"
