// Package wholefile replaces files of users and settings, which a server writes over while it runs: whatever happens on
// the way, such a file holds all of what it held before or all of what it is to hold.
package wholefile

import (
	"errors"
	"os"
	"path/filepath"
)

// Write makes a file hold content, durably, and readable by the server's own account only. The content is written beside
// the file first and renamed once it is on disk. After an error the file is as it was, unless only making the new name
// durable failed. A crash may leave the file beside it, under its name with a number.
func Write(path string, content []byte) error {
	temp, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*") // 0600
	if err != nil {
		return err
	}
	_, err = temp.Write(content)
	if err = errors.Join(err, temp.Sync(), temp.Close()); err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err != nil {
		_ = os.Remove(temp.Name())
		return err
	}
	return syncDir(filepath.Dir(path))
}

// syncDir makes a name in a directory durable.
func syncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
