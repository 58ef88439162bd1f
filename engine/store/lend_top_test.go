package store

import "testing"

func TestTopLent(t *testing.T) {
	s := New(Config{Shards: 4})
	defer s.Close()
	if top := s.TopLent(epoch, 3); top != nil {
		t.Errorf("of none: %v", top)
	}
	for i := range int64(20) {
		op := lend("a", slow, 1+i%10, 1, 0, 0)
		op.Key = keyOf(int(i))
		if i == 9 {
			op.MaxWait = sec
		}
		ask(s, epoch, op)
	}
	second := lend("b", slow, 7, 2, 0, 0)
	second.Key = keyOf(18)
	ask(s, epoch, second)
	top := s.TopLent(epoch, 3)
	if len(top) != 3 || string(top[0].Key) != string(keyOf(18)) || top[0].Tokens != 16 || len(top[0].Loans) != 2 || string(top[0].Loans[1].Holder) != "b" || top[0].Loans[1].Tokens != 7 {
		t.Fatalf("%+v", top)
	}
	if top[1].Tokens != 10 || top[2].Tokens != 10 || top[1].Loans[0].Left+top[2].Loans[0].Left != sec {
		t.Errorf("%+v", top[1:])
	}
	if top := s.TopLent(epoch+sec, 30); len(top) != 19 {
		t.Errorf("%d keys after one loan ended", len(top))
	}
}
