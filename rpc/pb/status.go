package pb

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"

	"github.com/jeton-dev/jeton/actor/limit"
)

// A Class says how the errors of one kind travel.
type Class struct {
	Code  codes.Code // of gRPC
	HTTP  int        // status of the JSON API
	Name  string     // for programs: lower case, with dashes
	Title string     // for people: the same for all errors of the class

	reason string // in a google.rpc.ErrorInfo: tells the class from the others of its Code; empty for the one without
}

// The classes of errors that are not one of the vocabulary's sentinels.
var (
	invalid  = Class{codes.InvalidArgument, http.StatusBadRequest, "invalid-request", "The request is not valid", ""}
	internal = Class{codes.Internal, http.StatusInternalServerError, "internal", "The node has an internal error", ""}
)

// sentinels are the errors that are the same on both sides of the wire, each with its class. Where an error is several
// of them, the first one counts. Of those with one Code, the one without a reason is the last.
var sentinels = []struct {
	err   error
	class Class
}{
	{limit.ErrUnknownHold, Class{codes.NotFound, http.StatusNotFound, "unknown-hold", "There is no such hold", "UNKNOWN_HOLD"}},
	{limit.ErrUnknownLimit, Class{codes.NotFound, http.StatusNotFound, "unknown-limit", "There is no such limit", ""}},
	{limit.ErrOverloaded, Class{codes.ResourceExhausted, http.StatusServiceUnavailable, "overloaded", "The node is shedding load", ""}},
	{limit.ErrUnavailable, Class{codes.Unavailable, http.StatusServiceUnavailable, "unavailable", "No decision could be made", ""}},
	{limit.ErrUnauthenticated, Class{codes.Unauthenticated, http.StatusForbidden, "not-an-operator", "Only operators of the cluster may do this", ""}},
	{context.DeadlineExceeded, Class{codes.DeadlineExceeded, http.StatusGatewayTimeout, "deadline-exceeded", "No decision was made in time", ""}},
	{context.Canceled, Class{codes.Canceled, http.StatusServiceUnavailable, "canceled", "The client canceled the request", ""}},
}

// Classify says how err travels. An error that the vocabulary does not know is a fault of the node.
func Classify(err error) Class {
	if _, ok := errors.AsType[*limit.FieldError](err); ok {
		return invalid
	}
	for _, s := range sentinels {
		if errors.Is(err, s.err) {
			return s.class
		}
	}
	return internal
}

// EncodeError is err as a gRPC status; nil is OK. The field of a *limit.FieldError travels as a google.rpc.BadRequest.
func EncodeError(err error) *status.Status {
	if err == nil {
		return status.New(codes.OK, "")
	}
	class := Classify(err)
	st := status.New(class.Code, brief(err.Error()))
	fe, ok := errors.AsType[*limit.FieldError](err)
	switch {
	case !ok && class.reason == "":
		return st
	case !ok:
		return withDetails(st, &errdetails.ErrorInfo{Reason: class.reason, Domain: domain})
	}
	details := []protoadapt.MessageV1{&errdetails.BadRequest{FieldViolations: []*errdetails.BadRequest_FieldViolation{
		{Field: brief(fe.Field), Description: brief(fe.Problem)},
	}}}
	if fe.Line > 0 {
		details = append(details, &errdetails.ErrorInfo{
			Reason: "DOCUMENT_LINE", Domain: domain, Metadata: map[string]string{"line": strconv.Itoa(fe.Line)},
		})
	}
	return withDetails(st, details...)
}

// domain is that of the reasons in details.
const domain = "jeton"

// withDetails is st with details; without, if they cannot be written.
func withDetails(st *status.Status, details ...protoadapt.MessageV1) *status.Status {
	detailed, err := st.WithDetails(details...)
	if err != nil {
		return st
	}
	return detailed
}

// brief is s fit for a header: UTF-8 of at most about a thousand bytes. A message may quote what a caller sent.
func brief(s string) string {
	const most = 1000
	if len(s) > most {
		s = s[:most] + "…"
	}
	return strings.ToValidUTF8(s, "\uFFFD") // in a status, protobuf refuses to send anything else
}

// DecodeError turns the error that a gRPC call ended with back into the error that the node met: an equal
// *limit.FieldError, or one that says the same and is the same sentinel. nil stays nil.
func DecodeError(err error) error {
	if err == nil {
		return nil
	}
	st, ok := status.FromError(err)
	if !ok {
		return err
	}
	return fromStatus(st)
}

func decodeStatus(m *rpcstatus.Status) error {
	if m.GetCode() == int32(codes.OK) {
		return errNoResult
	}
	return fromStatus(status.FromProto(m))
}

func fromStatus(st *status.Status) error {
	if st.Code() == codes.InvalidArgument {
		if fe := fieldError(st.Details()); fe != nil {
			return fe
		}
	}
	for _, s := range sentinels {
		if st.Code() == s.class.Code && (s.class.reason == "" || hasReason(st, s.class.reason)) {
			return &remoteError{message: plain(st.Message()), is: s.err}
		}
	}
	return &remoteError{message: st.Message(), is: st.Err()}
}

// hasReason says whether the details of st have one of ours.
func hasReason(st *status.Status, reason string) bool {
	for _, detail := range st.Details() {
		if d, is := detail.(*errdetails.ErrorInfo); is && d.GetDomain() == domain && d.GetReason() == reason {
			return true
		}
	}
	return false
}

// plain is what grpc itself says of a connection, in words for people; what a node says stays as it is.
func plain(message string) string {
	if quoted, is := strings.CutPrefix(message, "connection error: desc = "); is {
		if said, err := strconv.Unquote(quoted); err == nil {
			why := doing.ReplaceAllString(said, "")
			if why == net.ErrClosed.Error() { // grpc has given up waiting for the other end to begin, and closed the connection itself
				why = "the other end says nothing: its process may be frozen"
			}
			return "cannot connect: " + why
		}
	}
	if rest, is := strings.CutPrefix(message, "error reading from server: "); is {
		if rest == io.EOF.Error() {
			return "the connection broke"
		}
		return "the connection broke: " + doing.ReplaceAllString(rest, "")
	}
	if strings.HasPrefix(message, "stream terminated by RST_STREAM") {
		return "the node aborted the call"
	}
	return message
}

// doing is the beginning of a chain of reasons that only tells what was being done, and to which address.
var doing = regexp.MustCompile(
	`^((transport|authentication handshake failed|Error while dialing|error reading server preface` +
		`|(dial|read|write|raw-read|raw-write) tcp \S+|connect|read|write): )+`)

// fieldError is the field that details find fault with; nil when there is none.
func fieldError(details []any) *limit.FieldError {
	var fe *limit.FieldError
	for _, detail := range details {
		switch d := detail.(type) {
		case *errdetails.BadRequest:
			if v := d.GetFieldViolations(); len(v) > 0 && fe == nil {
				fe = &limit.FieldError{Field: v[0].GetField(), Problem: v[0].GetDescription()}
			}
		case *errdetails.ErrorInfo:
			if line, err := strconv.Atoi(d.GetMetadata()["line"]); err == nil && line > 0 && fe != nil {
				fe.Line = line
			}
		}
	}
	return fe
}

// A remoteError is an error that a node met, in its words.
type remoteError struct {
	message string
	is      error // what it is on this side of the wire
}

func (e *remoteError) Error() string {
	if e.message == "" {
		return e.is.Error()
	}
	return e.message
}

func (e *remoteError) Unwrap() error { return e.is }

// errNoResult is the answer of a node that this program does not understand.
var errNoResult = errors.New("the node answered with neither a decision nor an error")
