package main

import (
	"testing"

	"github.com/stintdb/stint/server/config"
	"github.com/stintdb/stint/server/sysmem"
)

// The pages of the program that its start needed are no longer resident, and the program goes on.
func TestDropStartPages(t *testing.T) {
	before := sysmem.MappedFiles()
	dropStartPages(&config.Config{MaxMemoryBytes: smallMemory})
	if after := sysmem.MappedFiles(); after > before/2 {
		t.Errorf("%d bytes of files are resident, and %d before", after, before)
	}
}
