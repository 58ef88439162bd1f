package fairqueue

import "slices"

// owners have something that waits, and take turns. They are in the order in which they came.
type owners[T any] []*owner[T]

// owner is somebody with several connections.
type owner[T any] struct {
	name    string
	waiting []T
	used    int64 // nanoseconds of batches, from the time with which it began
	isLate  bool  // the decision of its batch has taken patience
}

// add adds something to what an owner has waiting. A new owner begins with a time.
func (all *owners[T]) add(name string, one T, used int64) {
	i := slices.IndexFunc(*all, func(o *owner[T]) bool { return o.name == name })
	if i < 0 {
		i = len(*all)
		*all = append(*all, &owner[T]{name: name, used: used})
	}
	(*all)[i].waiting = append((*all)[i].waiting, one)
}

// remove removes an owner.
func (all *owners[T]) remove(o *owner[T]) {
	*all = slices.DeleteFunc(*all, func(other *owner[T]) bool { return other == o })
}

// take takes what has waited longest.
func (o *owner[T]) take() (one T) {
	one, o.waiting = o.waiting[0], o.waiting[1:]
	return one
}
