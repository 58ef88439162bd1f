package replay

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
)

// maxLine bounds a line of a log. A longer one counts as one that cannot be read.
const maxLine = 1 << 20

// source reads the lines of logs, one log after the other.
type source struct {
	paths []string
	stdin io.Reader
	path  string    // of the log that is read
	file  io.Closer // the open one, nil if there is none
	lines *bufio.Reader
	long  bool // the last line was longer than maxLine
	read  *counter
	total int64 // bytes of all files, 0 if not known
}

// counter counts the bytes read, compressed ones if the file is compressed.
type counter struct {
	from io.Reader
	n    int64
}

func (c *counter) Read(b []byte) (int, error) {
	n, err := c.from.Read(b)
	c.n += int64(n)
	return n, err
}

func openSource(paths []string, stdin io.Reader) (*source, error) {
	s := &source{paths: paths, stdin: stdin, read: &counter{}}
	for _, path := range paths {
		if path == "-" {
			s.total = 0
			return s, nil
		}
		info, err := os.Stat(path)
		switch {
		case err != nil:
			return nil, err
		case info.IsDir():
			return nil, fmt.Errorf("%s is a directory; name the logs in it", path)
		}
		s.total += info.Size()
	}
	return s, nil
}

func (s *source) close() {
	if s.file != nil {
		s.file.Close()
		s.file = nil
	}
}

// open opens the next log.
func (s *source) open() error {
	path := s.paths[0]
	s.path, s.paths = path, s.paths[1:]
	s.read.from = s.stdin
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return err
		}
		s.file, s.read.from = file, file
	}
	s.lines = bufio.NewReaderSize(s.read, maxLine)
	if head, _ := s.lines.Peek(2); string(head) == "\x1f\x8b" {
		unpacked, err := gzip.NewReader(s.lines)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		s.lines = bufio.NewReaderSize(unpacked, maxLine)
	}
	const byteOrderMark = "\ufeff" // no part of the first line
	if head, _ := s.lines.Peek(len(byteOrderMark)); string(head) == byteOrderMark {
		_, _ = s.lines.Discard(len(byteOrderMark))
	}
	return nil
}

// next returns the next line without its end. It is valid until the next call. first reports whether it is the first of
// its log.
func (s *source) next() (line []byte, first bool, err error) {
	for {
		if s.lines == nil {
			if len(s.paths) == 0 {
				return nil, false, io.EOF
			}
			if err := s.open(); err != nil {
				return nil, false, err
			}
			first = true
		}
		line, err := s.lines.ReadSlice('\n')
		s.long = errors.Is(err, bufio.ErrBufferFull)
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = s.lines.ReadSlice('\n')
		}
		switch {
		case err == io.EOF && len(line) == 0:
			s.close()
			s.lines = nil
			continue
		case err != nil && err != io.EOF:
			return nil, false, fmt.Errorf("%s: %w", s.path, err)
		}
		line = bytes.TrimSuffix(line, []byte("\n"))
		return bytes.TrimSuffix(line, []byte("\r")), first, nil
	}
}
