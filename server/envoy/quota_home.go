package envoy

import (
	"context"
	"errors"
	"strconv"

	"github.com/tidwall/redcon"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/database"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/command/limiter"
	"github.com/stintdb/stint/server/gateway"
	"github.com/stintdb/stint/server/resp"
	"github.com/stintdb/stint/server/rlqs"
	"github.com/stintdb/stint/server/rls"
)

// carryOut executes operations on loans as commands of the caller. An operation whose outcome is unknown is sent again
// later. An error reply ends the stream if sending again would not help.
func (s *quotaSession) carryOut(ctx context.Context, caller gateway.Caller, all []rlqs.Operation) error {
	if len(all) == 0 {
		return nil
	}
	table := s.quotas.table
	var commands []command.Words
	at := make([]int, len(all)) // the place of each operation's reply
	for i := range all {
		commands = appendWords(commands, table.Holder(), &all[i])
		at[i] = len(commands) - 1
	}
	ctx, cancel := context.WithTimeout(ctx, s.quotas.service.gateway.Config().CommandTimeout)
	defer cancel()
	replies, _ := s.quotas.service.gateway.DoAll(ctx, caller, commands...)
	var failed error
	for i := range all {
		var words []redcon.RESP
		if at[i] < len(replies) {
			reply := replies[at[i]]
			if words = resp.Elements(reply); all[i].Empty && len(words) == 3 { // the reply of EXEC
				reply = words[2]
				words = resp.Elements(reply)
			}
			if reply.Type == redcon.Error {
				failed = errors.Join(failed, rls.ErrorReply(reply.Data))
			}
		}
		if len(words) != 5 { // granted, limit, remaining, held, number
			table.Answer(all[i], nil)
			continue
		}
		s.works = true
		table.Answer(all[i], &rlqs.Answer{Granted: words[0].Int(), Limit: words[1].Int(), Remaining: words[2].Int(), Number: words[4].Int()})
	}
	return s.failure(failed)
}

// failure returns the error that ends a stream: an error reply before any operation succeeded, unless the server's
// state is the reason, which may pass. Later, a failure only concerns one bucket, whose id a client may have made up.
func (s *quotaSession) failure(failed error) error {
	var reply rls.ErrorReply
	if !errors.As(failed, &reply) {
		return nil
	}
	if _, known := codeOfReply[wordOf(reply)]; known && !s.works {
		return errorOf(reply)
	}
	s.quotas.unanswered.Add(1)
	s.quotas.warn("tokens of a quota could not be lent: each Envoy keeps its assignment until its time to live is over", "error", reply)
	return nil
}

// appendWords appends the commands of an operation. The last reply is its answer.
func appendWords(commands []command.Words, holder string, o *rlqs.Operation) []command.Words {
	if !o.Set {
		return append(commands, lendWords(holder, o))
	}
	_, params := limiter.LimitWords(o.Limit)
	take := func(tokens int64, option command.Keyword) command.Words {
		words := command.NewWords("TB.ACQUIRE", append(append([]string{o.Key}, params...), strconv.FormatInt(tokens, 10))...)
		words.Option(option)
		return words
	}
	set := take(1, "FORCE")
	if !o.Empty {
		return append(commands, set)
	}
	return append(commands, command.NewWords("MULTI"), command.NewWords("DEL", o.Key), set, take(o.Limit.Capacity, "UPTO"), command.NewWords("EXEC"))
}

func lendWords(holder string, o *rlqs.Operation) command.Words {
	op := engine.Op{
		Key: database.Append(nil, 0, []byte(o.Key)), Limit: o.Limit, Tokens: o.Tokens, Who: []byte(holder), Loan: &o.Loan,
		Options: engine.Whole, MaxWait: int64(rlqs.LoanTTL),
	}
	if o.Return {
		op.Keep = engine.KeepTokens(o.Tokens)
		return command.NewWords("RL.RETURN", limiter.ReturnWords(op)[1:]...)
	}
	return command.NewWords("RL.LEND", limiter.LendWords(op)[1:]...)
}
