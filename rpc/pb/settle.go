package pb

import (
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

// EncodeSettlement is s as a message.
func EncodeSettlement(s limit.Settlement) *SettleRequest {
	return &SettleRequest{Hold: s.Hold.String(), Used: s.Used, Open: s.Open, ForNs: int64(s.For)}
}

// DecodeSettlement reads a message. Its error is a *limit.FieldError, if the hold is not one as it was answered.
func DecodeSettlement(m *SettleRequest) (limit.Settlement, error) {
	h, err := limit.ParseHold(m.GetHold())
	if err != nil {
		return limit.Settlement{}, err
	}
	return limit.Settlement{Hold: h, Used: m.GetUsed(), Open: m.GetOpen(), For: time.Duration(m.GetForNs())}, nil
}

// EncodeSettled is s as a message.
func EncodeSettled(s limit.Settled) *SettleResponse {
	out := &SettleResponse{Charged: s.Charged, Returned: s.Returned, Debt: s.Debt, UntilNs: s.Until, Limits: make([]*SettledLimit, len(s.Limits))}
	for i := range s.Limits {
		l := &s.Limits[i]
		out.Limits[i] = &SettledLimit{
			Name: l.Name, State: string(l.State), Charged: l.Charged, Returned: l.Returned, Debt: l.Debt, UntilNs: l.Until,
		}
	}
	return out
}

// DecodeSettled reads a message.
func DecodeSettled(m *SettleResponse) limit.Settled {
	s := limit.Settled{Charged: m.GetCharged(), Returned: m.GetReturned(), Debt: m.GetDebt(), Until: m.GetUntilNs()}
	for _, l := range m.GetLimits() {
		s.Limits = append(s.Limits, limit.SettledLimit{
			Name: l.GetName(), State: limit.HoldState(l.GetState()), Charged: l.GetCharged(), Returned: l.GetReturned(), Debt: l.GetDebt(), Until: l.GetUntilNs(),
		})
	}
	return s
}
