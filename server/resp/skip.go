package resp

import "bytes"

// skip is what is still to come of a command beyond a bound. It is read and not kept, so that the command after it can
// be executed.
type skip struct {
	why   refusal // zero if nothing is skipped
	line  bool    // the command is in the inline form
	left  int64   // arguments still to come, including one that has begun
	begun bool    // the length of an argument has been read, but not all of its bytes
	size  int64   // bytes of that argument still to come, without its line end
	room  int64   // bytes that may still be skipped
}

// leastArgBytes is the size of an empty argument.
const leastArgBytes = int64(len("$0\r\n\r\n"))

// IsSkipping reports whether the input is in the middle of a command that is skipped.
func (r *Reader) IsSkipping() bool { return r.skip.why.kept != nil }

// skipFrom begins to skip arguments at b[at:]. If the length of the first one has been read already, it is size, and
// otherwise size is 0. The result is as in Next.
func (r *Reader) skipFrom(b []byte, at int, why refusal, args, size int64) ([][]byte, int, error) {
	room := int64(r.Limits.MaxSkip)
	if size > room || args > (room-size)/leastArgBytes {
		return nil, 0, why.fatal
	}
	r.need, r.at, r.left = 0, 0, 0
	r.skip = skip{why: why, left: args, begun: size > 0, size: size, room: room}
	return r.skipMore(b, at)
}

// skipLine begins to skip the line at the front of b.
func (r *Reader) skipLine(b []byte, why refusal) ([][]byte, int, error) {
	if r.Limits.MaxSkip == 0 {
		return nil, 0, why.fatal
	}
	r.need = 0
	r.skip = skip{why: why, line: true, room: int64(r.Limits.MaxSkip)}
	return r.skipMore(b, 0)
}

// skipMore skips what has arrived of the command, from b[at:]. The result is as in Next.
func (r *Reader) skipMore(b []byte, at int) ([][]byte, int, error) {
	pass := r.skip.passArguments
	if r.skip.line {
		pass = r.skip.passLine
	}
	end, over, err := pass(b, at)
	if r.skip.room -= int64(end - at); err == nil && r.skip.room < 0 {
		err = r.skip.why.fatal
	}
	if err != nil {
		return nil, 0, err
	}
	if over {
		err = r.skip.why.kept
		r.skip = skip{}
	}
	return nil, end, err
}

func (k *skip) passLine(b []byte, at int) (end int, over bool, err error) {
	if i := bytes.IndexByte(b[at:], '\n'); i >= 0 {
		return at + i + 1, true, nil
	}
	return len(b), false, nil
}

func (k *skip) passArguments(b []byte, at int) (end int, over bool, err error) {
	for from := at; k.left > 0; {
		if !k.begun {
			size, start, err := bulkHeader(b, at)
			switch {
			case err != nil || start == 0:
				return at, false, err
			case size > k.room-int64(start-from):
				return at, false, k.why.fatal
			}
			k.begun, k.size, at = true, size, start
		}
		n := min(k.size, int64(len(b)-at))
		k.size -= n
		if at += int(n); k.size > 0 || at+2 > len(b) {
			return at, false, nil
		}
		if b[at] != '\r' || b[at+1] != '\n' {
			return at, false, errLineEnd
		}
		at += 2
		k.begun = false
		k.left--
	}
	return at, true, nil
}
