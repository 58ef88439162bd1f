#!/bin/sh
# Stops the server when the package is removed. The state in /var/lib/stint stays.
set -e
rc-service --ifstarted stint stop || true
rc-update --quiet delete stint || true
