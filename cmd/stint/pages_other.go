//go:build !linux

package main

func dropStartPages() {}
