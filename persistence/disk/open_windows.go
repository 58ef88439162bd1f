package disk

import "os"

// openFile opens a file of a directory so that it can be renamed and removed while it is open: [os.Root] shares it for
// that, which [os.OpenFile] does not do on Windows.
func openFile(dir, name string, flags int) (*os.File, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return root.OpenFile(name, flags, 0o600)
}
