package bench

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"
)

// A streamAsked is what the model reads of a request.
type streamAsked struct {
	Events int           `json:"events"` // how many the answer has
	Every  time.Duration `json:"every"`  // how long after another
}

// streamModel answers with a stream of Chat Completions. Each event says in sent when it was sent, in nanoseconds of the machine's clock. It is sent
// when its time has come, whether the ones before were read or not. The first one takes its time too: to an answer that comes before the last
// byte of a request was read from the client, the bare proxy may break off.
func streamModel(w http.ResponseWriter, r *http.Request) {
	var asked streamAsked
	body, err := io.ReadAll(r.Body)
	if err != nil || json.Unmarshal(body, &asked) != nil || asked.Every <= 0 {
		http.Error(w, "ask for events, and how long after another", http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	begin, out := time.Now(), http.NewResponseController(w)
	timer := time.NewTimer(asked.Every)
	defer timer.Stop()
	for i := range asked.Events {
		select {
		case <-timer.C:
		case <-r.Context().Done():
			return
		}
		if _, err := fmt.Fprintf(w, "data: {\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"word \"}}],%s%d}\n\n",
			sentField, time.Now().UnixNano()); err != nil || out.Flush() != nil {
			return // the client has gone
		}
		timer.Reset(time.Until(begin.Add(time.Duration(i+2) * asked.Every)))
	}
	fmt.Fprintf(w, "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":20,\"completion_tokens\":%d}}\n\ndata: [DONE]\n\n", asked.Events)
}
