package persistence

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
)

// disk is an FS in memory that can lose power and fail. It separates the kernel's data from durable data, by sectors:
// without a sync, a written sector may or may not become durable, independently of others and with its contents after
// any of the writes to it. The same holds for names without SyncDir.
type disk struct {
	mu    sync.Mutex
	rand  *rand.Rand
	files map[string]*inode // as the process sees them
	names map[string]*inode // as the last SyncDir left them
	since []rename          // changes of names since then, in order

	fail     func(op, name string) error // nil when all is well
	full     fullness
	powerOff int // operations until every one fails; 0 for never
	off      bool
	syncs    time.Duration  // how long a sync takes
	synced   map[string]int // how often each file was
}

// rename is a change of names: target nil removes the name.
type rename struct {
	name   string
	target *inode
	old    string // removed in the same step, "" for none
}

// fullness is which operations a disk without room refuses.
type fullness int

const (
	hasRoom     fullness = iota
	noGrowth             // writes beyond a file's end, which is its allocated room; as ext4 and XFS
	noWrites             // all writes, since each goes to another place; as Btrfs
	noGrownSync          // syncs of files that have grown, whose room is allocated only then; as NFS
)

type inode struct {
	data    []byte           // as the process reads it
	durable []byte           // as it would certainly be found
	writes  map[int][][]byte // by sector: its contents after each write since the last sync
	sizes   []int            // since the last sync
}

const sector = 512

var (
	errOff  = errors.New("the power is off")
	errFull = error(syscall.ENOSPC)
	errIO   = errors.New("input/output error")

	errReadOnly = errors.New("read-only file system")
)

func newDisk(r *rand.Rand) *disk {
	return &disk{rand: r, files: map[string]*inode{}, names: map[string]*inode{}, synced: map[string]int{}}
}

// step begins an operation: it fails as the test wants it to, or because the power is off.
func (d *disk) step(op, name string) error {
	if d.powerOff > 0 {
		if d.powerOff--; d.powerOff == 0 {
			d.off = true
		}
	}
	if d.off {
		return errOff
	}
	if d.fail != nil {
		return d.fail(op, name)
	}
	if op == "create" && d.full != hasRoom {
		return errFull
	}
	return nil
}

func (d *disk) lock() func() {
	d.mu.Lock()
	return d.mu.Unlock
}

// takeTime is the delay of a sync on a slow disk.
func (d *disk) takeTime() {
	unlock := d.lock()
	wait := d.syncs
	unlock()
	time.Sleep(wait)
}

func (d *disk) find(name string) (*inode, error) {
	if n := d.files[name]; n != nil {
		return n, nil
	}
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

func (d *disk) change(c rename) {
	applyRename(d.files, c)
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
func (d *disk) Create(name string) (File, error) {
	defer d.lock()()
	if err := d.step("create", name); err != nil {
		return nil, err
	}
	if n := d.files[name]; n != nil {
		n.resize(0)
		return &handle{d, name, n}, nil
	}
	n := &inode{}
	d.change(rename{name: name, target: n})
	return &handle{d, name, n}, nil
}

// open finds the file that is to be opened. The caller holds mu.
func (d *disk) open(name string) (*inode, error) {
	if err := d.step("open", name); err != nil {
		return nil, err
	}
	return d.find(name)
}

// Edit implements [FS].
func (d *disk) Edit(name string) (File, error) {
	defer d.lock()()
	n, err := d.open(name)
	if err != nil {
		return nil, err
	}
	return &handle{d, name, n}, nil
}

// Open implements [FS].
func (d *disk) Open(name string) (io.ReadCloser, error) {
	defer d.lock()()
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
func (d *disk) Rename(oldName, newName string) error {
	defer d.lock()()
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
func (d *disk) Remove(name string) error {
	defer d.lock()()
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
func (d *disk) Rewrite(name string, from, size int64) error {
	defer d.lock()()
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
func (d *disk) List() ([]string, error) {
	defer d.lock()()
	if err := d.step("list", ""); err != nil {
		return nil, err
	}
	return slices.Sorted(maps.Keys(d.files)), nil
}

// SyncDir implements [FS].
func (d *disk) SyncDir() error {
	d.takeTime()
	defer d.lock()()
	if err := d.step("syncdir", ""); err != nil {
		return err
	}
	d.names, d.since = maps.Clone(d.files), nil
	return nil
}

type handle struct {
	disk *disk
	name string
	node *inode
}

// Write implements [File].
func (h *handle) Write(b []byte) (int, error) { return h.WriteAt(b, int64(len(h.node.data))) }

// WriteAt implements [File]. A write that fails, or that the power fails in, may be done in part.
func (h *handle) WriteAt(b []byte, offset int64) (int, error) {
	defer h.disk.lock()()
	err := h.disk.step("write", h.name)
	grows := offset+int64(len(b)) > int64(len(h.node.data))
	if err == nil && (h.disk.full == noWrites || h.disk.full == noGrowth && grows) {
		err = errFull
	}
	part := b
	if err != nil {
		part = b[:h.disk.rand.IntN(len(b)+1)]
	}
	if h.disk.full == noGrowth && err != nil {
		part = part[:min(len(part), max(0, len(h.node.data)-int(offset)))]
	}
	h.node.writeAt(part, int(offset))
	return len(part), err
}

// ReadAt implements [File].
func (h *handle) ReadAt(b []byte, offset int64) (int, error) {
	defer h.disk.lock()()
	if err := h.disk.step("read", h.name); err != nil {
		return 0, err
	}
	return bytes.NewReader(h.node.data).ReadAt(b, offset)
}

// Sync implements [File].
func (h *handle) Sync() error {
	h.disk.takeTime()
	defer h.disk.lock()()
	return h.disk.sync(h.name, h.node)
}

// sync makes a file durable. After a failed sync the kernel marks some of the unwritten data as written, and never
// tries again.
func (d *disk) sync(name string, n *inode) error {
	err := d.step("sync", name)
	if err == nil && d.full == noGrownSync && len(n.data) > len(n.durable) {
		err = errFull
	}
	switch {
	case err == nil:
		n.sync()
		d.synced[name]++
	case !d.off:
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
	defer h.disk.lock()()
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

// losePower returns the disk as it is found when the power is back.
func (d *disk) losePower() *disk {
	defer d.lock()()
	kind := []int{loseSome, loseSome, loseAll, loseNothing}[d.rand.IntN(4)]
	names := maps.Clone(d.names)
	for _, c := range d.since { // a journaling file system keeps names in order, others do not
		if kind == loseNothing || kind == loseSome && d.rand.IntN(2) == 0 {
			applyRename(names, c)
		}
	}
	found := newDisk(d.rand)
	copies := map[*inode]*inode{}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		n := names[name]
		if copies[n] == nil {
			copies[n] = n.afterPowerLoss(d.rand, kind)
		}
		found.files[name], found.names[name] = copies[n], copies[n]
	}
	return found
}

// afterKill returns the disk as it is found when only the process has died: the kernel still holds all it was given. The process,
// whose goroutines go on in a test, can no longer use its own.
func (d *disk) afterKill() *disk {
	defer d.lock()()
	d.off = true
	next := newDisk(d.rand)
	next.files, next.names, next.since = d.files, d.names, d.since
	return next
}

// contents returns copies of all files.
func (d *disk) contents() map[string][]byte {
	defer d.lock()()
	all := map[string][]byte{}
	for name, n := range d.files {
		all[name] = bytes.Clone(n.data)
	}
	return all
}

// diskOf returns a disk that durably holds files.
func diskOf(files map[string][]byte) *disk {
	d := newDisk(rand.New(rand.NewPCG(1, 1)))
	for name, data := range files {
		d.files[name] = &inode{data: bytes.Clone(data), durable: bytes.Clone(data)}
	}
	maps.Copy(d.names, d.files)
	return d
}

func (d *disk) String() string {
	text := ""
	for _, name := range slices.Sorted(maps.Keys(d.files)) {
		text += fmt.Sprintf("%s: %d bytes, %d durable\n", name, len(d.files[name].data), len(d.files[name].durable))
	}
	return text
}
