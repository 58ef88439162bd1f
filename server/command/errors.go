package command

import (
	"errors"
	"fmt"
	"strings"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/internal/spelling"
	"github.com/stintdb/stint/server/resp"
)

// WrongArity returns Redis's error, followed by the usage if Redis does not have the command.
func WrongArity(r *Row) error {
	if r.isStints() {
		return errArityUsage.With(r.FullName, r.Usage())
	}
	return ErrArity.With(r.FullName)
}

// IsHTTP reports whether a command's name is the first word of a line of an HTTP request. A web page can make a browser
// send such a request to this port, with commands in its body.
func IsHTTP(name []byte) bool { return IsWord(name, "POST") || IsWord(name, "Host:") }

// UnknownCommand is the error for a command that does not exist. It suggests a command with a similar name.
func UnknownCommand(args [][]byte) error {
	name, beginning := Truncate(args[0], 128), beginningOf(args[1:])
	if meant := meantCommand(args[0]); meant != "" {
		return errUnknownCommandNear.With(name, beginning, meant)
	}
	return errUnknownCommand.With(name, beginning)
}

// meantCommand returns the command that was probably meant by an unknown one, in capitals, or "". Stint lacks some of
// Redis's commands, and their names resemble others that it has, without being typing errors. So for a name of Redis's
// it only accepts swapped or doubled letters.
func meantCommand(name []byte) string {
	meant := nearest(name, tableNames)
	if row := byName[meant]; row != nil && (row.isStints() || spelling.SameLetters(strings.ToLower(string(name)), meant)) {
		return row.Title()
	}
	return ""
}

// beginningOf quotes the first arguments as Redis does.
func beginningOf(args [][]byte) string {
	var beginning strings.Builder
	for _, a := range args {
		if beginning.Len() >= 128 {
			break
		}
		fmt.Fprintf(&beginning, "'%s' ", Truncate(a, 128-beginning.Len()))
	}
	return beginning.String()
}

func unknownSubcommand(r *Row, name []byte) error {
	container, names := strings.ToUpper(r.Name), make([]string, len(r.Sub))
	for i := range r.Sub {
		names[i] = r.Sub[i].Name
	}
	if meant := nearest(name, names); meant != "" {
		return errUnknownSubcommandNear.With(Truncate(name, 128), container, container, strings.ToUpper(meant))
	}
	return errUnknownSubcommand.With(Truncate(name, 128), container)
}

// nearest returns the most similar name, or "" if none is similar.
func nearest(name []byte, names []string) string {
	if len(name) > longestName {
		return ""
	}
	return spelling.Nearest(strings.ToLower(string(name)), names)
}

// UnknownOption is the error for an option that the command r does not take. known lists the options that it takes.
func UnknownOption(r string, option []byte, known string) error {
	return errUnknownOption.With(r, Truncate(option, 64), known)
}

// Truncate returns at most the first n bytes of text from a client, for use in an error.
func Truncate(b []byte, n int) []byte { return b[:min(len(b), max(n, 0))] }

// ArgumentError names the wrong argument, the allowed values and the received value.
func ArgumentError(name, must string, got []byte) error {
	return errArgument.With(name, must, Truncate(got, 64))
}

// WriteFailure writes the error of a failed operation. It reports false if the operation did not fail.
func WriteFailure(w *resp.Writer, res *engine.Result) bool {
	switch res.Status {
	case engine.WrongType:
		w.Error(wrongType(res))
	case engine.ReservationDiffers:
		w.Error(errReservationDiffers.Error())
	case engine.SettledOtherwise:
		w.Error(ErrSettledOtherwise.Error())
	case engine.WrongAmounts:
		w.Error(errWrongAmounts.With(res.Limit).Error())
	case engine.NotNext:
		w.Error(errNotNext.With(res.Limit).Error())
	case engine.AlreadySettled:
		w.Error(errAlreadySettled.Error())
	case engine.ReservationFull:
		w.Error(errReservationFull.With(engine.MaxMarks, limits.MaxTokens).Error())
	case engine.NotPermitted:
		w.Error(ErrNoKeyAccess.Error())
	case engine.OutOfRoom:
		w.Error(ErrOutOfMemory.Error())
	case engine.NoRoomToGrow:
		w.Error(errNoRoomToGrow.Error())
	case engine.DebtTooBig:
		w.Error(ErrDebtTooBig.Error())
	case engine.DuplicateKey:
		w.Error(ErrDuplicateKey.Error())
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
		switch res.Held.Algorithm {
		case limits.FairShare:
			w.Error(errSharesNotRefundable.Error())
		case limits.Penalty:
			w.Error(errBanNotRefundable.Error())
		default:
			w.Error(errNotRefundable.Error())
		}
	case engine.TooManyCredits:
		w.Error(errTooManyCredits.With(limits.MaxTokens).Error())
	case engine.TooManyGrants:
		w.Error(errTooManyGrants.With(engine.MaxCreditGrants).Error())
	case engine.TooManyMembers:
		w.Error(errTooManyMembers.With(engine.MaxMembers).Error())
	default:
		return false
	}
	return true
}

// wrongType is the error of a key that holds something else.
func wrongType(res *engine.Result) string {
	switch held := res.Held.Algorithm; {
	case res.Wanted == limits.Reservation:
		return errNotReservation.With(held).Error()
	case held.IsValue() || held == limits.Reservation:
		return ErrHoldsData.With(held).Error()
	}
	return ErrWrongType.With(res.Held.Algorithm, res.Wanted).Error()
}

// ReplyOK is the Reply of commands that answer OK.
func ReplyOK(w *resp.Writer, _ []engine.Op, results []engine.Result) {
	if !WriteFailure(w, &results[0]) {
		w.Status("OK")
	}
}

// ReplyCount is the Reply of commands that answer with the number of keys they found.
func ReplyCount(w *resp.Writer, _ []engine.Op, results []engine.Result) {
	n := int64(0)
	for i := range results {
		switch results[i].Status {
		case engine.OK:
			n++
		case engine.NotDurable: // then it is not known for certain how many keys are gone
			w.Error(ErrNotKept.Error())
			return
		}
	}
	w.Int(n)
}

// ClusterError returns an error of the cluster with the code that clients look for.
func ClusterError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrNoLeader):
		return ErrNoLeader
	case errors.Is(err, ErrImporting):
		return ErrImporting
	case errors.Is(err, ErrUncertain):
		return ErrUncertain
	}
	return ErrRaft.With(err)
}
