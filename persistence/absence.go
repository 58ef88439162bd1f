package persistence

import (
	"errors"
	"io/fs"
	"slices"

	"github.com/stintdb/stint/persistence/disk"
)

// contents is what the names and headers of the files of a directory, and its manifest, say about the files.
type contents struct {
	fs                  disk.FS
	manifest            *disk.Manifest // nil if there is none, or it is damaged
	manifestErr         *disk.DamageError
	snapshots, journals []uint64
	heads               map[string]disk.HeaderFields // of the files that a start reads, if they are whole
}

// contentsOf looks at a directory, which may be in use.
func contentsOf(dir disk.FS) (*contents, error) {
	c := &contents{fs: dir, heads: map[string]disk.HeaderFields{}}
	var err error // the manifest is read first: a server may add files before the files are listed
	if c.manifest, err = disk.ReadManifest(dir); err != nil {
		damage, is := errors.AsType[*disk.DamageError](err)
		if !is || errors.Is(err, disk.ErrNewer) {
			return nil, err
		}
		c.manifestErr = damage
	}
	names, err := dir.List()
	if err != nil {
		return nil, err
	}
	c.snapshots, c.journals = disk.Numbers(names, disk.SnapshotPrefix), disk.Numbers(names, disk.JournalPrefix)
	for _, name := range c.read() {
		if err := c.readHead(name); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// newest is the number of the newest snapshot, and 1; 0 for none.
func (c *contents) newest() uint64 {
	if len(c.snapshots) == 0 {
		return 0
	}
	return c.snapshots[len(c.snapshots)-1] + 1
}

// read lists the files that a start reads.
func (c *contents) read() (names []string) {
	if n := c.newest(); n > 0 {
		names = append(names, disk.FileName(disk.SnapshotPrefix, n-1))
	}
	for _, number := range c.journals {
		if number+1 >= c.newest() {
			names = append(names, disk.FileName(disk.JournalPrefix, number))
		}
	}
	return names
}

func (c *contents) readHead(name string) error {
	in, err := c.fs.Open(name)
	if errors.Is(err, fs.ErrNotExist) { // a server has removed it
		return nil
	}
	if err != nil {
		return err
	}
	magic := disk.SnapshotMagic
	if len(disk.Numbers([]string{name}, disk.JournalPrefix)) == 1 {
		magic = disk.JournalMagic
	}
	blocks, err := disk.NewBlockReader(name, in, magic)
	_ = in.Close()
	if _, damaged := errors.AsType[*disk.DamageError](err); damaged { // its reader reports it
		return nil
	}
	c.heads[name] = blocks.Head
	return err
}

// damage lists the files that are missing, or belong to another directory.
func (c *contents) damage() (all []*disk.DamageError, err error) {
	switch owner := c.withIdentity(); {
	case c.manifest != nil:
		all = c.unlikeManifest()
	case !errors.Is(c.manifestErr, disk.ErrAbsent):
		all = append(all, c.manifestErr)
	case owner != "":
		all = append(all, disk.IsMissing(disk.ManifestFile, owner+" has the identity that it gives"))
	}
	for _, number := range c.journals {
		name := disk.FileName(disk.JournalPrefix, number)
		if head, is := c.heads[name]; is && head.Snapshot() > c.newest() && !c.isEarlier(number) {
			all = append(all, disk.IsMissing(disk.FileName(disk.SnapshotPrefix, head.Snapshot()-1), name+" goes on from it"))
		}
	}
	missing, err := c.missingJournal()
	if missing != nil {
		all = append(all, missing)
	}
	return slices.CompactFunc(all, func(a, b *disk.DamageError) bool { return a.Name == b.Name }), err
}

// unlikeManifest returns what differs from the manifest.
func (c *contents) unlikeManifest() (all []*disk.DamageError) {
	foreign, claimed := c.foreign(), c.manifest.Claims()
	if len(foreign) > 0 && len(foreign) == len(c.heads) {
		foreign = []string{disk.ManifestFile}
	}
	for _, name := range foreign {
		all = append(all, disk.Absent(name, disk.ErrForeign))
	}
	if claimed.Snapshot > c.newest() {
		all = append(all, disk.IsMissing(disk.FileName(disk.SnapshotPrefix, claimed.Snapshot-1), "it was complete"))
	}
	if claimed.Last > 0 && claimed.Last >= c.newest() && !slices.Contains(c.journals, claimed.Last-1) {
		all = append(all, disk.IsMissing(disk.FileName(disk.JournalPrefix, claimed.Last-1), "changes in it were on disk"))
	}
	return all
}

// withIdentity is a file that has an identity, "" if none has.
func (c *contents) withIdentity() string {
	for _, name := range c.read() {
		if head := c.heads[name]; head.Identity() != 0 {
			return name
		}
	}
	return ""
}

// isEarlier reports whether a file was there before the manifest was made.
func (c *contents) isEarlier(number uint64) bool {
	return c.manifest != nil && number < c.manifest.Claims().First
}

// foreign lists the files of other directories. A file without an identity may have been written by an earlier version,
// before there was a manifest or after the manifest was last written.
func (c *contents) foreign() (names []string) {
	for _, name := range c.read() {
		head, is := c.heads[name]
		if !is || head.Identity() == c.manifest.Identity() || c.isEarlier(head.Number) {
			continue
		}
		if head.Identity() != 0 || head.Number < max(c.manifest.Claims().Last, c.manifest.Claims().Snapshot) {
			names = append(names, name)
		}
	}
	return names
}

// isMixed reports whether some files do not have the identity of the manifest, so that a new manifest has to begin
// after them.
func (c *contents) isMixed() bool {
	if c.manifest == nil {
		return true
	}
	for _, head := range c.heads {
		if head.Identity() != c.manifest.Identity() && !c.isEarlier(head.Number) {
			return true
		}
	}
	return false
}

// missingJournal returns the damage of a journal whose predecessor is missing.
func (c *contents) missingJournal() (*disk.DamageError, error) {
	chain := c.chain()
	for _, number := range c.journals {
		if number < c.newest() {
			continue
		}
		l, err := chain.predecessor(number)
		if err != nil {
			return nil, err
		}
		if slices.Contains(c.journals, l.Before) {
			continue
		}
		needed := l.Durable > disk.HeaderBytes
		if !needed && l.Ended > disk.HeaderBytes {
			if needed, err = chain.firstSyncDone(number); err != nil {
				return nil, err
			}
		}
		if needed {
			return disk.IsMissing(disk.FileName(disk.JournalPrefix, l.Before), disk.FileName(disk.JournalPrefix, number)+" goes on from it"), nil
		}
	}
	return nil, nil
}

// chain returns the journals, with the claims of the manifest about the last one.
func (c *contents) chain() journalChain {
	chain := journalChain{fs: c.fs, numbers: c.journals}
	if c.manifest != nil {
		chain.last, chain.bytes = c.manifest.Claims().Last, int64(c.manifest.Claims().Bytes)
	}
	return chain
}

// journalsOf returns the journals of a directory.
func journalsOf(fs disk.FS) (journalChain, error) {
	c, err := contentsOf(fs)
	if err != nil {
		return journalChain{}, err
	}
	return c.chain(), nil
}

// Missing lists the files of a directory that are missing, or belong to another one.
func Missing(dir disk.FS) ([]*disk.DamageError, error) {
	c, err := contentsOf(dir)
	if err != nil {
		return nil, err
	}
	return c.damage()
}
