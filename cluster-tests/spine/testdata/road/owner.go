package road

import "github.com/jeton-dev/jeton/cluster-tests/spine/testdata/road/actor/limit"

type owner struct{ rule limit.Rule }

func (o owner) decide(i int) bool { return o.rule.Bound(i) > 1 }
