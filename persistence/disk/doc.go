// Package disk has what all files of a directory are made with: headers and blocks under checksums, names with numbers,
// the manifest that says what the directory holds at least, and the kinds of damage. All access goes through [FS], so
// tests can fill a disk, break it and cut its power.
package disk
