package fakemodel

import "io"

const created = 1_700_000_000 // a time, in seconds since 1970: answers are the same at any time

// chat answers a request of Chat Completions.
func chat(c *call) {
	finish := "stop"
	if c.short {
		finish = "length"
	}
	usage := c.usage(object{
		"prompt_tokens": c.input, "completion_tokens": c.told(), "total_tokens": c.input + c.told(),
		"prompt_tokens_details":     object{"cached_tokens": c.cached, "audio_tokens": 0},
		"completion_tokens_details": object{"reasoning_tokens": 0, "audio_tokens": 0},
	})
	if !c.asked.Stream {
		choices := make([]any, c.choices)
		for i := range choices {
			choices[i] = object{"index": i, "finish_reason": finish, "logprobs": nil, "message": object{"role": "assistant", "content": c.text(), "refusal": nil}}
		}
		answer := object{"id": "chatcmpl-1", "object": "chat.completion", "created": created, "model": c.asked.Model, "choices": choices}
		if usage != nil {
			answer["usage"] = usage
		}
		c.document(answer)
		return
	}
	include := c.asked.StreamOptions != nil && c.asked.StreamOptions.IncludeUsage
	chunk := func(choices ...any) object {
		o := object{"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": created, "model": c.asked.Model, "choices": choices}
		if len(choices) == 0 {
			o["choices"] = []any{}
		}
		if include {
			o["usage"] = nil
		}
		return o
	}
	choice := func(i int, delta object, finish any) object {
		return object{"index": i, "delta": delta, "logprobs": nil, "finish_reason": finish}
	}
	c.begin("text/event-stream; charset=utf-8")
	for i := range c.choices {
		c.event("", chunk(choice(i, object{"role": "assistant", "content": "", "refusal": nil}, nil)))
	}
	for i := range c.choices {
		c.stream("", func(word string) any { return chunk(choice(i, object{"content": word}, nil)) })
		c.event("", chunk(choice(i, object{}, finish)))
	}
	if include && usage != nil {
		last := chunk()
		last["usage"] = usage
		c.event("", last)
	}
	_, _ = io.WriteString(c.out, "data: [DONE]\n\n")
	c.flush()
}

// responses answers a request of Responses.
func responses(c *call) {
	usage := c.usage(object{
		"input_tokens": c.input, "output_tokens": c.told(), "total_tokens": c.input + c.told(),
		"input_tokens_details":  object{"cached_tokens": c.cached},
		"output_tokens_details": object{"reasoning_tokens": 0},
	})
	text := object{"type": "output_text", "text": c.text(), "annotations": []any{}}
	message := object{"id": "msg_1", "type": "message", "status": "completed", "role": "assistant", "content": []any{text}}
	status := "completed"
	if c.short {
		status = "incomplete"
	}
	response := func(status string, output []any, usage any) object {
		o := object{
			"id": "resp_1", "object": "response", "created_at": created, "status": status, "model": c.asked.Model, "output": output, "usage": usage,
			"error": nil, "incomplete_details": nil, "parallel_tool_calls": true, "tool_choice": "auto", "tools": []any{}, "metadata": object{},
		}
		if status == "incomplete" {
			o["incomplete_details"] = object{"reason": "max_output_tokens"}
		}
		return o
	}
	if !c.asked.Stream {
		c.document(response(status, []any{message}, usage))
		return
	}
	c.begin("text/event-stream; charset=utf-8")
	number := 0
	named := func(kind string, more object) object {
		more["type"], more["sequence_number"] = kind, number
		number++
		return more
	}
	send := func(kind string, more object) { c.event(kind, named(kind, more)) }
	send("response.created", object{"response": response("in_progress", []any{}, nil)})
	send("response.output_item.added", object{"output_index": 0, "item": object{
		"id": "msg_1", "type": "message", "status": "in_progress", "role": "assistant", "content": []any{},
	}})
	const kind = "response.output_text.delta"
	c.stream(kind, func(word string) any {
		return named(kind, object{"item_id": "msg_1", "output_index": 0, "content_index": 0, "delta": word, "logprobs": []any{}})
	})
	send("response.output_text.done", object{"item_id": "msg_1", "output_index": 0, "content_index": 0, "text": c.text(), "logprobs": []any{}})
	send("response.output_item.done", object{"output_index": 0, "item": message})
	send("response."+status, object{"response": response(status, []any{message}, usage)})
}
