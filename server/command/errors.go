package command

import (
	"fmt"
	"strings"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/server/resp"
)

func wrongArity(r *Row) error {
	return errArity.With(r.FullName)
}

// IsHTTP reports whether a command's name is the first word of a line of an HTTP request. A web page can make a browser send
// such a request here, with commands in its body.
func IsHTTP(name []byte) bool { return isWord(name, "POST") || isWord(name, "Host:") }

func unknownCommand(args [][]byte) error {
	var beginning strings.Builder
	for _, a := range args[1:] {
		if beginning.Len() >= 128 {
			break
		}
		fmt.Fprintf(&beginning, "'%s' ", truncate(a, 128-beginning.Len()))
	}
	return errUnknownCommand.With(truncate(args[0], 128), beginning.String())
}

func unknownSubcommand(r *Row, name []byte) error {
	return errUnknownSubcommand.With(truncate(name, 128), strings.ToUpper(r.Name))
}

func unknownOption(r string, option []byte, known string) error {
	return errUnknownOption.With(r, truncate(option, 64), known)
}

func truncate(b []byte, n int) []byte { return b[:min(len(b), max(n, 0))] }

// argumentError names the wrong argument, its allowed values and the received one.
func argumentError(name, must string, got []byte) error {
	return errArgument.With(name, must, truncate(got, 64))
}

// failed writes the error of a result that has one, and reports whether it did.
func failed(w *resp.Writer, res *engine.Result) bool {
	switch res.Status {
	case engine.WrongType:
		switch held := res.Held.Algorithm; {
		case res.Wanted == engine.Reservation:
			w.Error(errNotReservation.With(held).Error())
			return true
		case held.IsValue() || held == engine.Reservation:
			w.Error(errHoldsData.With(held).Error())
			return true
		}
		w.Error(ErrWrongType.With(res.Held.Algorithm, res.Wanted).Error())
	case engine.ReservationDiffers:
		w.Error(errReservationDiffers.Error())
	case engine.SettledOtherwise:
		w.Error(errSettledOtherwise.Error())
	case engine.WrongAmounts:
		w.Error(errWrongAmounts.With(res.Limit).Error())
	case engine.NotPermitted:
		w.Error(ErrNoKeyAccess.Error())
	case engine.OutOfRoom:
		w.Error(ErrOutOfMemory.Error())
	case engine.NoRoomToGrow:
		w.Error(errNoRoomToGrow.Error())
	case engine.DebtTooBig:
		w.Error(ErrDebtTooBig.Error())
	case engine.DuplicateKey:
		w.Error(errDuplicateKey.Error())
	case engine.TooLong:
		w.Error(errIDTooLong.With(engine.MaxHolderBytes).Error())
	case engine.MissingField:
		w.Error(errMissingField.With(res.Reply).Error())
	case engine.UnknownField:
		w.Error(errUnknownField.With(res.Reply).Error())
	case engine.ListTooLong:
		w.Error(errListTooLong.With(engine.MaxListedBytes).Error())
	case engine.NotDurable:
		w.Error(ErrNotKept.Error())
	case engine.NotRefundable:
		if res.Held.Algorithm == engine.FairShare {
			w.Error(errSharesNotRefundable.Error())
			return true
		}
		w.Error(errNotRefundable.Error())
	case engine.TooManyMembers:
		w.Error(errTooManyMembers.With(engine.MaxMembers).Error())
	default:
		return false
	}
	return true
}
