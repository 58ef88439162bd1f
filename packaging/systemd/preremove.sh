#!/bin/sh
# Stops the server when the package is removed, and not for an upgrade: dpkg says "remove", and rpm that 0 packages are left. The state in
# /var/lib/stint stays.
set -e
if [ "$1" = remove ] || [ "$1" = 0 ]; then
    if [ -d /run/systemd/system ]; then
        systemctl disable --now stint.socket stint.service stint-sidecar.socket stint-sidecar.service stint-backup.timer || true
    fi
fi
