//go:build !linux

package main

import "github.com/stintdb/stint/server/config"

func dropStartPages(*config.Config) {}
