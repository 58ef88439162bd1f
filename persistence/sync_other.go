//go:build !linux

package persistence

import "os"

func syncData(f *os.File) error { return f.Sync() }
