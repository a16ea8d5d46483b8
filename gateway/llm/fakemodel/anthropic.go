package fakemodel

// messages answers a request of Messages. Its input tokens do not include those that were read from the cache.
func messages(c *call) {
	usage := func(output int) object {
		return object{
			"input_tokens": c.input - c.cached, "cache_read_input_tokens": c.cached, "cache_creation_input_tokens": 0, "output_tokens": output,
		}
	}
	stop := "end_turn"
	if c.short {
		stop = "max_tokens"
	}
	message := func(content []any, stop, usage any) object {
		o := object{"id": "msg_1", "type": "message", "role": "assistant", "model": c.asked.Model, "content": content, "stop_reason": stop, "stop_sequence": nil}
		if usage != nil {
			o["usage"] = usage
		}
		return o
	}
	if !c.asked.Stream {
		c.document(message([]any{object{"type": "text", "text": c.text()}}, stop, c.usage(usage(c.told()))))
		return
	}
	c.begin("text/event-stream; charset=utf-8")
	send := func(kind string, more object) {
		more["type"] = kind
		c.event(kind, more)
	}
	send("message_start", object{"message": message([]any{}, nil, c.usage(usage(1)))})
	send("content_block_start", object{"index": 0, "content_block": object{"type": "text", "text": ""}})
	send("ping", object{})
	const kind = "content_block_delta"
	c.stream(kind, func(word string) any {
		return object{"type": kind, "index": 0, "delta": object{"type": "text_delta", "text": word}}
	})
	send("content_block_stop", object{"index": 0})
	last := object{"delta": object{"stop_reason": stop, "stop_sequence": nil}}
	if u := c.usage(object{"output_tokens": c.told()}); u != nil {
		last["usage"] = u
	}
	send("message_delta", last)
	send("message_stop", object{})
}
