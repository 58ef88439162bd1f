// Package testdisk has a file system in memory for tests: it loses power, fills up and fails as a test wants it to.
package testdisk

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/stintdb/stint/persistence/disk"
)

// Disk is an FS in memory that can lose power and fail. It separates the kernel's data from durable data, by sectors:
// without a sync, a written sector may or may not become durable, independently of others and with its contents after
// any of the writes to it. The same holds for names without SyncDir.
type Disk struct {
	mu    sync.Mutex
	rand  *rand.Rand
	Files map[string]*inode // as the process sees them
	names map[string]*inode // as the last SyncDir left them
	since []rename          // changes of names since then, in order

	Fail     func(op, name string) error // nil when all is well
	Full     Fullness
	PowerOff int // operations until every one fails; 0 for never
	Off      bool
	Syncs    time.Duration  // how long a sync takes
	synced   map[string]int // how often each file was
}

// rename is a change of names: target nil removes the name.
type rename struct {
	name   string
	target *inode
	old    string // removed in the same step, "" for none
}

// Fullness says which operations a disk without room refuses.
type Fullness int

// What a [Disk] has room for.
const (
	HasRoom     Fullness = iota
	NoGrowth             // writes beyond a file's end, which is its allocated room; as ext4 and XFS
	NoWrites             // all writes, since each goes to another place; as Btrfs
	NoGrownSync          // syncs of files that have grown, whose room is allocated only then; as NFS
)

type inode struct {
	data    []byte           // as the process reads it
	durable []byte           // as it would certainly be found
	writes  map[int][][]byte // by sector: its contents after each write since the last sync
	sizes   []int            // since the last sync
}

const sector = 512

// Errors of operations.
var (
	errOff  = errors.New("the power is off")
	ErrFull = error(syscall.ENOSPC)
	ErrIO   = errors.New("input/output error")

	ErrReadOnly = errors.New("read-only file system")
)

// New returns an empty disk, whose losses r draws.
func New(r *rand.Rand) *Disk {
	return &Disk{rand: r, Files: map[string]*inode{}, names: map[string]*inode{}, synced: map[string]int{}}
}

// step begins an operation: it fails as the test wants it to, or because the power is off.
func (d *Disk) step(op, name string) error {
	if d.PowerOff > 0 {
		if d.PowerOff--; d.PowerOff == 0 {
			d.Off = true
		}
	}
	if d.Off {
		return errOff
	}
	if d.Fail != nil {
		return d.Fail(op, name)
	}
	if op == "create" && d.Full != HasRoom {
		return ErrFull
	}
	return nil
}

// Lock keeps operations waiting until the returned function is called.
func (d *Disk) Lock() func() {
	d.mu.Lock()
	return d.mu.Unlock
}

// takeTime is the delay of a sync on a slow disk.
func (d *Disk) takeTime() {
	unlock := d.Lock()
	wait := d.Syncs
	unlock()
	time.Sleep(wait)
}

func (d *Disk) find(name string) (*inode, error) {
	if n := d.Files[name]; n != nil {
		return n, nil
	}
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

func (d *Disk) change(c rename) {
	applyRename(d.Files, c)
	d.since = append(d.since, c)
}

func applyRename(names map[string]*inode, c rename) {
	delete(names, c.old)
	if c.target == nil {
		delete(names, c.name)
		return
	}
	names[c.name] = c.target
}

// Create implements [FS].
func (d *Disk) Create(name string) (disk.File, error) {
	defer d.Lock()()
	if err := d.step("create", name); err != nil {
		return nil, err
	}
	if n := d.Files[name]; n != nil {
		n.resize(0)
		return &handle{d, name, n}, nil
	}
	n := &inode{}
	d.change(rename{name: name, target: n})
	return &handle{d, name, n}, nil
}

// open finds the file that is to be opened. The caller holds mu.
func (d *Disk) open(name string) (*inode, error) {
	if err := d.step("open", name); err != nil {
		return nil, err
	}
	return d.find(name)
}

// Edit implements [FS].
func (d *Disk) Edit(name string) (disk.File, error) {
	defer d.Lock()()
	n, err := d.open(name)
	if err != nil {
		return nil, err
	}
	return &handle{d, name, n}, nil
}

// Open implements [FS].
func (d *Disk) Open(name string) (io.ReadCloser, error) {
	defer d.Lock()()
	n, err := d.open(name)
	if err != nil {
		return nil, err
	}
	type open struct {
		*bytes.Reader
		io.Closer
	}
	return open{bytes.NewReader(bytes.Clone(n.data)), io.NopCloser(nil)}, nil
}

// Rename implements [FS].
func (d *Disk) Rename(oldName, newName string) error {
	defer d.Lock()()
	if err := d.step("rename", newName); err != nil {
		return err
	}
	n, err := d.find(oldName)
	if err == nil {
		d.change(rename{name: newName, target: n, old: oldName})
	}
	return err
}

// Remove implements [FS].
func (d *Disk) Remove(name string) error {
	defer d.Lock()()
	if err := d.step("remove", name); err != nil {
		return err
	}
	if _, err := d.find(name); err != nil {
		return err
	}
	d.change(rename{name: name})
	return nil
}

// Rewrite implements [FS].
func (d *Disk) Rewrite(name string, from, size int64) error {
	defer d.Lock()()
	if err := d.step("truncate", name); err != nil {
		return err
	}
	n, err := d.find(name)
	if err != nil {
		return err
	}
	n.resize(int(size))
	err = d.step("write", name)
	part := n.data[from:]
	if err != nil {
		part = part[:d.rand.IntN(len(part)+1)]
	}
	if n.writeAt(part, int(from)); err != nil {
		return err
	}
	return d.sync(name, n)
}

// List implements [FS].
func (d *Disk) List() ([]string, error) {
	defer d.Lock()()
	if err := d.step("list", ""); err != nil {
		return nil, err
	}
	return slices.Sorted(maps.Keys(d.Files)), nil
}

// SyncDir implements [FS].
func (d *Disk) SyncDir() error {
	d.takeTime()
	defer d.Lock()()
	if err := d.step("syncdir", ""); err != nil {
		return err
	}
	d.names, d.since = maps.Clone(d.Files), nil
	return nil
}

type handle struct {
	disk *Disk
	name string
	node *inode
}

// Write implements [File].
func (h *handle) Write(b []byte) (int, error) { return h.WriteAt(b, int64(len(h.node.data))) }

// WriteAt implements [File]. A write that fails, or that the power fails in, may be done in part.
func (h *handle) WriteAt(b []byte, offset int64) (int, error) {
	defer h.disk.Lock()()
	err := h.disk.step("write", h.name)
	grows := offset+int64(len(b)) > int64(len(h.node.data))
	if err == nil && (h.disk.Full == NoWrites || h.disk.Full == NoGrowth && grows) {
		err = ErrFull
	}
	part := b
	if err != nil {
		part = b[:h.disk.rand.IntN(len(b)+1)]
	}
	if h.disk.Full == NoGrowth && err != nil {
		part = part[:min(len(part), max(0, len(h.node.data)-int(offset)))]
	}
	h.node.writeAt(part, int(offset))
	return len(part), err
}

// ReadAt implements [File].
func (h *handle) ReadAt(b []byte, offset int64) (int, error) {
	defer h.disk.Lock()()
	if err := h.disk.step("read", h.name); err != nil {
		return 0, err
	}
	return bytes.NewReader(h.node.data).ReadAt(b, offset)
}

// Sync implements [File].
func (h *handle) Sync() error {
	h.disk.takeTime()
	defer h.disk.Lock()()
	return h.disk.sync(h.name, h.node)
}

// sync makes a file durable. After a failed sync the kernel marks some of the unwritten data as written, and never
// tries again.
func (d *Disk) sync(name string, n *inode) error {
	err := d.step("sync", name)
	if err == nil && d.Full == NoGrownSync && len(n.data) > len(n.durable) {
		err = ErrFull
	}
	switch {
	case err == nil:
		n.sync()
		d.synced[name]++
	case !d.Off:
		for _, s := range slices.Sorted(maps.Keys(n.writes)) {
			if d.rand.IntN(2) == 0 {
				delete(n.writes, s)
			}
		}
	}
	return err
}

// Truncate implements [File].
func (h *handle) Truncate(size int64) error {
	defer h.disk.Lock()()
	err := h.disk.step("truncate", h.name)
	if err == nil {
		h.node.resize(int(size))
	}
	return err
}

// Close implements [File].
func (h *handle) Close() error { return nil }

func (n *inode) writeAt(b []byte, from int) {
	if len(b) == 0 {
		return
	}
	if grow := from + len(b) - len(n.data); grow > 0 {
		n.data = append(n.data, make([]byte, grow)...)
	}
	copy(n.data[from:], b)
	n.touch(from, from+len(b))
}

// touch records the new contents of the sectors of a range.
func (n *inode) touch(from, to int) {
	n.sizes = append(n.sizes, len(n.data))
	for s := from / sector; s*sector < to; s++ {
		if n.writes == nil {
			n.writes = map[int][][]byte{}
		}
		n.writes[s] = append(n.writes[s], bytes.Clone(n.data[s*sector:min(len(n.data), (s+1)*sector)]))
	}
}

func (n *inode) resize(size int) {
	data := make([]byte, size)
	copy(data, n.data)
	n.data = data
	n.sizes = append(n.sizes, size)
}

// sync makes the data durable that the kernel still marks as unwritten.
func (n *inode) sync() {
	durable := make([]byte, len(n.data))
	copy(durable, n.durable)
	for s, contents := range n.writes {
		if s*sector < len(durable) {
			copy(durable[s*sector:], contents[len(contents)-1])
		}
	}
	n.durable, n.writes, n.sizes = durable, nil, nil
}

// afterPowerLoss returns a file's contents after a power loss: for every sector one of its contents since the last
// sync, or the one before.
func (n *inode) afterPowerLoss(r *rand.Rand, kind int) *inode {
	size := len(n.durable)
	if len(n.sizes) > 0 && kind != loseAll {
		size = n.sizes[r.IntN(len(n.sizes))]
		if kind == loseNothing {
			size = len(n.data)
		}
	}
	found := make([]byte, size)
	copy(found, n.durable)
	for _, s := range slices.Sorted(maps.Keys(n.writes)) {
		contents := n.writes[s]
		if s*sector >= size || kind == loseAll || kind == loseSome && r.IntN(2) == 0 {
			continue
		}
		pick := len(contents) - 1
		if kind == loseSome {
			pick = r.IntN(len(contents))
		}
		clear(found[s*sector : min(size, (s+1)*sector)])
		copy(found[s*sector:], contents[pick])
	}
	return &inode{data: found, durable: bytes.Clone(found)}
}

const (
	loseSome = iota
	loseAll
	loseNothing
)

// LosePower returns the disk as it is found when the power is back.
func (d *Disk) LosePower() *Disk {
	defer d.Lock()()
	kind := []int{loseSome, loseSome, loseAll, loseNothing}[d.rand.IntN(4)]
	names := maps.Clone(d.names)
	for _, c := range d.since { // a journaling file system keeps names in order, others do not
		if kind == loseNothing || kind == loseSome && d.rand.IntN(2) == 0 {
			applyRename(names, c)
		}
	}
	found := New(d.rand)
	copies := map[*inode]*inode{}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		n := names[name]
		if copies[n] == nil {
			copies[n] = n.afterPowerLoss(d.rand, kind)
		}
		found.Files[name], found.names[name] = copies[n], copies[n]
	}
	return found
}

// AfterKill returns the disk as it is found when only the process has died: the kernel still holds all it was given.
// The process, whose goroutines go on in a test, can no longer use its own.
func (d *Disk) AfterKill() *Disk {
	defer d.Lock()()
	d.Off = true
	next := New(d.rand)
	next.Files, next.names, next.since = d.Files, d.names, d.since
	return next
}

// Contents returns copies of all files.
func (d *Disk) Contents() map[string][]byte {
	defer d.Lock()()
	all := map[string][]byte{}
	for name, n := range d.Files {
		all[name] = bytes.Clone(n.data)
	}
	return all
}

// Of returns a disk that durably holds files.
func Of(files map[string][]byte) *Disk {
	d := New(rand.New(rand.NewPCG(1, 1)))
	for name, data := range files {
		d.Files[name] = &inode{data: bytes.Clone(data), durable: bytes.Clone(data)}
	}
	maps.Copy(d.names, d.Files)
	return d
}

func (d *Disk) String() string {
	text := ""
	for _, name := range slices.Sorted(maps.Keys(d.Files)) {
		text += fmt.Sprintf("%s: %d bytes, %d durable\n", name, len(d.Files[name].data), len(d.Files[name].durable))
	}
	return text
}
