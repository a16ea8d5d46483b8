package web

import (
	"net/http"

	"github.com/jeton-dev/jeton/actor/limit"
)

// hold answers POST /v1/hold: a check that says for how long.
func (a *api) hold(r *http.Request) (reply, error) {
	var request limit.Request
	if err := readJSON(r, &request); err != nil {
		return reply{}, wrongFieldOf("a hold", holdFields, err)
	}
	if request.Hold == 0 {
		return reply{}, limit.ErrNoFor
	}
	return a.decide(r, request)
}

// settle answers POST /v1/settle.
func (a *api) settle(r *http.Request) (reply, error) {
	var in limit.Settlement
	if err := readJSON(r, &in); err != nil {
		return reply{}, wrongFieldOf("a settlement", settlementFields, err)
	}
	return a.settled(r, in)
}

// settled is the reply to a settlement.
func (a *api) settled(r *http.Request, s limit.Settlement) (reply, error) {
	settled, err := a.Limiter.Settle(r.Context(), s)
	if err != nil {
		return reply{}, asWrittenOfSettlement(err, s)
	}
	return reply{status: http.StatusOK, body: settled}, nil
}
