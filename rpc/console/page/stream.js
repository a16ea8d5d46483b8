// The stream of views: one a second, as server-sent events. It is read with fetch, which tells why a stream is refused; EventSource
// does not.

const SILENT = 10000; // milliseconds without a view, after which the stream is taken for broken
const HIDDEN = 20000; // how long a page that is not seen keeps its stream: a browser has six connections to a node
const FIRST_PAUSE = 500;
const LONGEST_PAUSE = 8000;

// follow opens the stream, and opens it again when it ends. It tells each view, and the state of the connection:
//
//	{state: "connecting" | "live" | "blind" | "lost" | "full" | "refused" | "signed-out" | "paused", until, why}
//
// until is when it is tried again, in milliseconds of Date.now. Blind: the node answers, and cannot look at its cluster. Full: it has as
// many streams as it may have.
export function follow(path, onView, onState) {
  let pause = FIRST_PAUSE, aborter = null, timer = 0, silence = 0, paused = false;

  async function open() {
    clearTimeout(timer);
    const mine = (aborter = new AbortController());
    try {
      expect();
      const answer = await fetch(path, { headers: { Accept: "text/event-stream" }, signal: mine.signal, cache: "no-store" });
      if (!answer.ok) {
        refused(answer, await answer.text().catch(() => ""));
        return;
      }
      for await (const { event, data } of events(answer.body)) {
        expect();
        pause = FIRST_PAUSE;
        if (event === "problem") onState({ state: "blind", why: JSON.parse(data).detail });
        if (event !== "view") continue;
        onState({ state: "live" });
        onView(JSON.parse(data));
      }
      again("the node has ended the stream");
    } catch {
      if (aborter === mine) again("the node does not answer");
    }
  }

  // expect waits for something to arrive, and takes the stream for broken if nothing does.
  function expect() {
    clearTimeout(silence);
    silence = setTimeout(() => stop(true), SILENT);
  }

  function stop(retry) {
    clearTimeout(silence);
    const was = aborter;
    aborter = null;
    was?.abort();
    if (retry) again("nothing has arrived for some seconds");
  }

  function again(why, after = pause, state = "lost") {
    clearTimeout(silence);
    clearTimeout(timer);
    if (paused) return;
    onState({ state, why, until: Date.now() + after });
    timer = setTimeout(open, after);
    pause = Math.min(pause * 2, LONGEST_PAUSE);
  }

  function refused(answer, text) {
    let problem = {};
    try {
      problem = JSON.parse(text);
    } catch {
      // then there is no reason to tell
    }
    const after = Number(answer.headers.get("Retry-After")) * 1000 || 10000;
    if (answer.status === 401 || answer.status === 403) {
      again(problem.detail, 10000, "signed-out");
    } else {
      again(problem.detail, after, problem.type?.endsWith(":too-many-streams") ? "full" : "refused");
    }
  }

  document.addEventListener("visibilitychange", () => {
    clearTimeout(hidden);
    if (document.hidden) {
      hidden = setTimeout(() => {
        paused = true;
        clearTimeout(timer);
        stop(false);
        onState({ state: "paused" });
      }, HIDDEN);
    } else if (paused) {
      paused = false;
      onState({ state: "connecting" });
      open();
    }
  });
  let hidden = 0;
  onState({ state: "connecting" });
  open();
}

// events are the events of a stream, as the specification of server-sent events has them.
async function* events(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let buffer = "", event = "message", data = [];
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    buffer += value;
    const lines = buffer.split(/\r\n|\n|\r(?!$)/);
    buffer = lines.pop();
    for (const line of lines) {
      if (line === "") {
        if (data.length) yield { event, data: data.join("\n") };
        event = "message";
        data = [];
        continue;
      }
      const [, field, , text] = /^([^:]*)(: ?)?(.*)$/.exec(line);
      if (field === "event") event = text;
      if (field === "data") data.push(text);
    }
  }
}
