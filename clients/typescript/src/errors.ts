/** What the API says when it gives no decision: a problem document of RFC 9457. A denial is an answer, and no error. */
export interface Problem {
  /** For programs, such as "urn:jeton:problem:unknown-limit"; "about:blank" for an answer that is not the API's. */
  type: string;
  /** The same for all problems of a type. */
  title: string;
  /** Of HTTP. */
  status: number;
  /** What is wrong this time, and what to do. */
  detail: string;
  /** The part of the request that is wrong, such as "limits[0]". */
  field?: string;
}

/** The cluster refused a request: it was wrong, or not allowed. To repeat it does not help. */
export class JetonError extends Error implements Problem {
  override name = "JetonError";
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly field?: string;
  /** The address that answered; empty where none did. */
  readonly address: string;

  constructor(problem: Problem, address: string, options?: ErrorOptions) {
    super(problem.detail || problem.title, options);
    this.type = problem.type;
    this.title = problem.title;
    this.status = problem.status;
    this.detail = problem.detail;
    if (problem.field !== undefined) this.field = problem.field;
    this.address = address;
  }
}

/** One address that was asked, and why it gave no answer. */
export interface Attempt {
  address: string;
  reason: string;
}

/** No address gave an answer in time. What was asked may have been decided and charged all the same. */
export class Unavailable extends JetonError {
  override name = "Unavailable";
  /** The addresses that were asked, in order. */
  readonly attempts: readonly Attempt[];

  constructor(attempts: readonly Attempt[], after: number, options?: ErrorOptions) {
    const last = new Map(attempts.map((a) => [a.address, a.reason]));
    const told = Array.from(last, ([address, reason]) => `${address}: ${reason}`).join("; ");
    const detail = `no usable answer after ${after.toFixed(2)} s${told && `: ${told}`}`;
    super({ type: "urn:jeton:problem:unavailable", title: "No decision could be made", status: 503, detail }, "", options);
    this.attempts = attempts;
  }
}
