package engine

// Credit is a grant of a balance: credits that were added until a time.
type Credit struct {
	Expires int64 // nanoseconds since the Unix epoch; the largest number for never
	Added   int64 // credits
	Spent   int64 // of these credits; more than Added only in debt
}

// Credits are the grants with something left that a [ListCredits] has found, in the order in which they are spent.
func (res *Result) Credits() (all []Credit) {
	if res.Status != OK {
		return nil
	}
	for r := (PartReader{Rest: res.Reply}); len(r.Rest) > 0; {
		all = append(all, Credit{r.Varint(), r.Varint(), r.Varint()})
	}
	return all
}
