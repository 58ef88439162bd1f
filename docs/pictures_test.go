package docs

import (
	"os"
	"path/filepath"
	"testing"
)

// maxPicture bounds a picture of the handbook: it stays in the history of every clone.
const maxPicture = 256 << 10

func TestPicturesAreSmall(t *testing.T) {
	for _, path := range findFiles(t, "*.png") {
		info, err := os.Stat(filepath.Join(root, path))
		if err != nil {
			t.Fatal(err)
		}
		if info.Size() > maxPicture {
			t.Errorf("%s has %d bytes, more than %d", path, info.Size(), maxPicture)
		}
	}
}
