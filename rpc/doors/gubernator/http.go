package gubernator

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// maxBody is the most bytes of a body: enough for 1,000 items with keys as long as they may be.
const maxBody = 1 << 20

// handler is the JSON of gubernator's gateway.
func handler(s *service) http.Handler {
	mux := http.NewServeMux()
	on := func(method, path string, serve http.HandlerFunc) {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			if r.Method != method {
				w.Header().Set("Allow", method)
				s.refuse(w, http.StatusMethodNotAllowed, codes.Unimplemented, fmt.Sprintf("%s takes %s only", path, method))
				return
			}
			serve(w, r)
		})
	}
	on(http.MethodPost, "/v1/GetRateLimits", s.serveRateLimits)
	on(http.MethodGet, "/v1/HealthCheck", func(w http.ResponseWriter, r *http.Request) {
		m, err := s.HealthCheck(r.Context(), nil)
		s.reply(w, m, err)
	})
	on(http.MethodGet, "/v1/LiveCheck", func(w http.ResponseWriter, r *http.Request) {
		m, err := s.LiveCheck(r.Context(), nil)
		s.reply(w, m, err)
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		s.refuse(w, http.StatusNotFound, codes.NotFound, "there are POST /v1/GetRateLimits, GET /v1/HealthCheck and GET /v1/LiveCheck")
	})
	return mux
}

func (s *service) serveRateLimits(w http.ResponseWriter, r *http.Request) {
	m, err := readBody(http.MaxBytesReader(w, r.Body, maxBody))
	if tooLong, ok := errors.AsType[*http.MaxBytesError](err); ok {
		s.metrics.refused.Inc()
		s.refuse(w, http.StatusRequestEntityTooLarge, codes.OutOfRange, fmt.Sprintf("the body is too long: at most %d bytes", tooLong.Limit))
		return
	}
	switch {
	case errors.Is(err, errManyItems):
		s.metrics.refused.Inc()
		s.reply(w, nil, errTooLarge)
	case err != nil:
		s.metrics.refused.Inc()
		s.reply(w, nil, status.Error(codes.InvalidArgument, err.Error()))
	default:
		answers, err := s.GetRateLimits(r.Context(), m)
		s.reply(w, answers, err)
	}
}

// reply writes m, or err in its place.
func (s *service) reply(w http.ResponseWriter, m proto.Message, err error) {
	if err == nil {
		s.write(w, http.StatusOK, m)
		return
	}
	st := status.Convert(err)
	code := http.StatusBadRequest
	if st.Code() == codes.Unavailable {
		code = http.StatusServiceUnavailable
	}
	s.refuse(w, code, st.Code(), st.Message())
}

// longestMessage is how many bytes of an error are sent: it may quote what was sent.
const longestMessage = 1000

func (s *service) refuse(w http.ResponseWriter, code int, kind codes.Code, message string) {
	message = strings.ToValidUTF8(message[:min(len(message), longestMessage)], "")
	s.write(w, code, &spb.Status{Code: int32(kind), Message: message})
}

func (s *service) write(w http.ResponseWriter, code int, m proto.Message) {
	body, err := protojson.MarshalOptions{UseProtoNames: true, EmitUnpopulated: true}.Marshal(m)
	if err == nil {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_, err = w.Write(body)
	}
	if err != nil {
		s.logger.Debug("gubernator: an answer was not written", "error", err)
	}
}
