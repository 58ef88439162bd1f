package main

import (
	"testing"
	"time"
)

func TestRecoveredIn(t *testing.T) {
	const log = `time=2026-01-02T03:04:05Z level=INFO msg=recovered states=7 keys=5 snapshot=snapshot-1.stint journals=1 took=1.5s
ready: accepting connections on 127.0.0.1:1`
	if keys, took, err := recoveredIn(log); keys != 5 || took != 1500*time.Millisecond || err != nil {
		t.Errorf("%v keys in %v, %v", keys, took, err)
	}
	_, _, err := recoveredIn("ready: accepting")
	wantError(t, err, "has no line about recovery")
}
