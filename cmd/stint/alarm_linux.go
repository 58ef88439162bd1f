package main

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// An alarm sleeps exactly. Go's timers end up to a millisecond late on Linux while nothing else happens, more than a server takes to
// answer; the end of a timerfd is an event like the arrival of a reply.
type alarm struct {
	file *os.File // nil for Go's timers
}

func newAlarm() alarm {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return alarm{}
	}
	return alarm{os.NewFile(uintptr(fd), "timerfd")}
}

// sleep sleeps for d, or less.
func (a alarm) sleep(d time.Duration) {
	if a.file == nil {
		time.Sleep(d)
		return
	}
	conn, err := a.file.SyscallConn()
	if err == nil {
		_ = conn.Control(func(fd uintptr) {
			err = unix.TimerfdSettime(int(fd), 0, &unix.ItimerSpec{Value: unix.NsecToTimespec(int64(d))}, nil)
		})
	}
	if err == nil {
		var expirations [8]byte
		_, err = a.file.Read(expirations[:])
	}
	if err != nil {
		time.Sleep(d)
	}
}

func (a alarm) close() {
	if a.file != nil {
		a.file.Close()
	}
}
